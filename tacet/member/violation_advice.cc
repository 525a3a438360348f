#include "tacet/member/violation_advice.h"

#include <algorithm>
#include <array>

namespace tacet::member {
namespace {

// Somebody may act in this site's name.
constexpr std::array<std::string_view, 2> kOwnKeys = {"replaced-upload", "replaced-packet"};

// Another member may be the cause, and the federation deals with it.
constexpr std::array<std::string_view, 7> kOfOthers = {
    "cohort-bias",    "unsound-sum",        "bad-sum", "bad-share", "wrong-share",
    "bad-checkpoint", "withheld-abstention"};

template <size_t kNames>
bool Has(const std::array<std::string_view, kNames>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::string_view ViolationAdvice(std::string_view violation) {
  if (Has(kOwnKeys, violation)) {
    return "Stop this site and every copy of its folder. Notify the coordinating member, the "
           "security officer and the data protection officer: somebody may hold this site's keys. "
           "If no copy ran, have the site removed and enrol it with new keys";
  }
  if (Has(kOfOthers, violation)) {
    return "The site may continue. Notify the coordinating member, who asks the member that the "
           "text names, or the server's operator";
  }
  return "Stop this site and keep node-log.jsonl. Notify the coordinating member and the security "
         "officer: the server, or somebody in its place, did what an honest one never does. Tell "
         "the data protection officer, who judges whether it is a personal data breach";
}

}  // namespace tacet::member
