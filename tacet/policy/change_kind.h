// Kinds of change that an invitation brings to a site.
#ifndef TACET_POLICY_CHANGE_KIND_H_
#define TACET_POLICY_CHANGE_KIND_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tacet::policy {

// The numbers are those of docs/formats/acceptances.md.
enum class ChangeKind : uint8_t {
  kTraining = 0,  // a training begins
  kQuery = 1,     // a query begins
  kRemoval = 2,   // a member has left
  kServer = 3,    // another server, or the same one elsewhere
  kRenewal = 4,   // none of them: fresh keys or certificates, other seats
  kAddition = 5,  // a member has come
};
inline constexpr std::array kChangeKinds = {ChangeKind::kTraining, ChangeKind::kQuery,
                                            ChangeKind::kRemoval,  ChangeKind::kServer,
                                            ChangeKind::kRenewal,  ChangeKind::kAddition};

// The word of a policy.
std::string_view ChangeKindName(ChangeKind kind);
absl::StatusOr<ChangeKind> ParseChangeKind(std::string_view word);
// With ", " between.
std::string ChangeKindNames(const std::vector<ChangeKind>& kinds);

}  // namespace tacet::policy

#endif  // TACET_POLICY_CHANGE_KIND_H_
