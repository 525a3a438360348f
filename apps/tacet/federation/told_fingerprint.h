// Comparison of a request's fingerprint with the one that its party told by another way.
#ifndef TACET_APPS_TACET_FEDERATION_TOLD_FINGERPRINT_H_
#define TACET_APPS_TACET_FEDERATION_TOLD_FINGERPRINT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"

namespace tacet::app::federation {

// Asks on the terminal where `told` is missing. PermissionDenied for another fingerprint,
// InvalidArgument where nobody can be asked.
absl::Status CheckFingerprint(const std::string& name, std::span<const uint8_t> request,
                              const std::optional<std::string>& told);

}  // namespace tacet::app::federation

#endif  // TACET_APPS_TACET_FEDERATION_TOLD_FINGERPRINT_H_
