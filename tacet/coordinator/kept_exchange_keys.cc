#include "tacet/coordinator/kept_exchange_keys.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/agreement/key_renewal.h"
#include "tacet/secagg/committee.h"

namespace tacet::coordinator {
namespace {

constexpr size_t kMaxNamesShown = 20;

}  // namespace

KeptExchangeKeys FindKeptExchangeKeys(std::span<const agreement::EpochLink> earlier,
                                      const agreement::SignedManifest& next) {
  std::set<uint64_t> keeping;
  for (const agreement::EpochLink& epoch : earlier) {
    for (const uint64_t member : agreement::MembersKeepingKeys(epoch.members, next.members())) {
      keeping.insert(member);
    }
  }
  KeptExchangeKeys kept;
  for (const uint64_t member : keeping) {
    const bool on_committee = secagg::SeatOf(next.manifest().committee(), member).has_value();
    (on_committee ? kept.committee : kept.others).push_back(next.members()[member].name);
  }
  return kept;
}

std::string LossByKeptKeys(const agreement::SignedManifest& next) {
  const uint32_t seats = next.manifest().spec().committee.corrupt + 1;
  return fmt::format(
      "Anyone who takes such keys of {}, and the epoch keys, decrypts the recorded uploads of "
      "every "
      "epoch that has had them.",
      seats == 1 ? "one seat" : fmt::format("{} seats", seats));
}

std::string NamesText(std::vector<std::string> names) {
  const size_t more = names.size() - std::min(names.size(), kMaxNamesShown);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace tacet::coordinator
