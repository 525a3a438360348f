#include "apps/tacet/federation/told_fingerprint.h"

#include <cstdio>
#include <iostream>

#include "fmt/core.h"
#include <unistd.h>

#include "tacet/agreement/member_keys.h"
#include "tacet/base/status.h"

namespace tacet::app::federation {

absl::Status CheckFingerprint(const std::string& name, std::span<const uint8_t> request,
                              const std::optional<std::string>& told) {
  const crypto::Digest fingerprint = agreement::RequestFingerprint(request);
  if (told.has_value()) {
    TACET_ASSIGN_OR_RETURN(const crypto::Digest given, agreement::ParseFingerprint(*told));
    if (given == fingerprint) return absl::OkStatus();
    return base::PermissionDenied(
        "the request has the fingerprint {}: somebody altered it, or it is another one",
        agreement::FingerprintText(fingerprint));
  }
  if (::isatty(STDIN_FILENO) == 0) {
    return base::InvalidArgument(
        "--fingerprint is needed: there is no terminal on which to confirm the request");
  }
  fmt::print(
      "The request of {} has the fingerprint\n  {}\nDid the site tell you the same, by another way "
      "than the request came? (yes/no) ",
      name, agreement::FingerprintText(fingerprint));
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "yes") return absl::OkStatus();
  return base::PermissionDenied("{} was not enrolled", name);
}

}  // namespace tacet::app::federation
