// Contents of the public interface's handles, and the one way from a handle to them.
#ifndef TACET_API_CORE_PARTS_H_
#define TACET_API_CORE_PARTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement.h"
#include "tacet/agreement/manifest.h"
#include "tacet/agreement/pair_keys.h"
#include "tacet/attempt_id.h"
#include "tacet/client.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/keys.h"
#include "tacet/secagg/attempt.h"

namespace tacet::api {

struct MemberSecret {
  crypto::SigningKey signing;
  crypto::ExchangeKey exchange;
  crypto::KemKey kem;
  MemberPublicKey public_key;
};

struct EpochSecret {
  crypto::SecretBytes key;  // 32 bytes
};

struct CheckedAgreement {
  AgreementOptions options;  // with its defaults filled in
  agreement::Manifest manifest;

  // Keys of the committee, by seat.
  std::vector<crypto::KemPublicKey> seat_keys() const {
    std::vector<crypto::KemPublicKey> keys;
    for (const uint64_t member : options.committee) keys.push_back(options.members[member].kem);
    return keys;
  }
};

struct ClientParts {
  Agreement agreement;
  uint64_t member;
  MemberKey key;
  EpochKey epoch_key;
  agreement::ClientKeys keys;  // with all seats

  agreement::PairSecrets pair_secrets() const;
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

inline agreement::PairSecrets ClientParts::pair_secrets() const {
  return {.exchange_key = Access::Of(key).exchange,
          .kem_key = Access::Of(key).kem,
          .epoch_key = Access::Of(epoch_key).key,
          .epoch = agreement.options().epoch};
}

inline const agreement::Manifest& ManifestOf(const Agreement& agreement) {
  return Access::Of(agreement).manifest;
}

// The identity that messages of the attempt carry. InvalidArgument for a round or an attempt that
// the agreement does not permit.
absl::StatusOr<secagg::Attempt> AttemptOf(const Agreement& agreement, const AttemptId& attempt);

}  // namespace tacet::api

#endif  // TACET_API_CORE_PARTS_H_
