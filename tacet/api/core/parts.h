// Contents of the public interface's handles, and the one way from a handle to them.
#ifndef TACET_API_CORE_PARTS_H_
#define TACET_API_CORE_PARTS_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

#include "tacet/agreement.h"
#include "tacet/agreement/manifest.h"
#include "tacet/attempt_id.h"
#include "tacet/client.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/keys.h"
#include "tacet/secagg/attempt.h"

namespace tacet::api {

struct MemberSecret {
  crypto::SigningKey signing;
  crypto::ExchangeKey exchange;
  MemberPublicKey public_key;
};

struct EpochSecret {
  crypto::SecretBytes key;  // 32 bytes
};

struct CheckedAgreement {
  AgreementOptions options;  // with its defaults filled in
  agreement::Manifest manifest;
};

struct ClientParts {
  Agreement agreement;
  uint64_t member;
  MemberKey key;
  EpochKey epoch_key;
  crypto::SecretBytes pair_keys;  // with all seats, 32 bytes a seat
};

struct Access {
  template <typename Handle>
  static const auto& Of(const Handle& handle) {
    return *handle.parts_;
  }
  template <typename Handle, typename Parts>
  static Handle Make(Parts parts) {
    return Handle(std::move(parts));
  }
};

inline const agreement::Manifest& ManifestOf(const Agreement& agreement) {
  return Access::Of(agreement).manifest;
}

// The identity that messages of the attempt carry. InvalidArgument for a round or an attempt that
// the agreement does not permit.
absl::StatusOr<secagg::Attempt> AttemptOf(const Agreement& agreement, const AttemptId& attempt);

}  // namespace tacet::api

#endif  // TACET_API_CORE_PARTS_H_
