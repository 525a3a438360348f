// Keys of all members of a simulated federation, which one process plays.
#ifndef TACET_SIMULATION_SIMULATED_KEYS_H_
#define TACET_SIMULATION_SIMULATED_KEYS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/mutex.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"

namespace tacet::simulation {

// Secrets from which ranks derive the keys of the members that they play.
struct SharedSecrets {
  crypto::SecretBytes epoch_key;      // 32 bytes
  crypto::SecretBytes exchange_seed;  // 32 bytes: all members' exchange keys follow from it

  static constexpr size_t kBytes = 64;
  SharedSecrets Copy() const;
};

struct MemberKeys {
  uint32_t epoch = 0;
  SharedSecrets shared;
  std::vector<crypto::SigningKey> signing_keys;  // by member; none where nothing is decrypted
};

// HKDF-SHA256(exchange seed, "tacet/1/simulated exchange key" ‖ member u64).
crypto::ExchangeKey ExchangeKeyOf(const crypto::SecretBytes& exchange_seed, uint64_t member);
// The seed of a member's KEM key: the same with "tacet/1/simulated KEM key", 64 bytes.
crypto::SecretBytes KemSeedOf(const crypto::SecretBytes& exchange_seed, uint64_t member);

// Pair keys of clients with the seats of one manifest's committee, each computed once an epoch.
// Thread-safe.
class PairKeys {
 public:
  // `manifest` names the committee; its hash may be that of the same manifest with members' keys.
  PairKeys(const SharedSecrets& shared, const agreement::Manifest& manifest,
           const crypto::Digest& manifest_hash, uint32_t epoch);

  struct OfClient {
    crypto::SecretBytes keys;  // with all seats, 32 bytes a seat; empty where there is no committee
    crypto::Digest list{};     // of its key packet (secagg::ListDigest)
  };
  // The reference stays valid as long as this object.
  const OfClient& Of(uint64_t client);

 private:
  SharedSecrets shared_;
  crypto::Digest manifest_hash_;
  uint32_t epoch_;
  std::vector<crypto::ExchangePublicKey> seats_;
  std::vector<crypto::KemPublicKey> seat_kem_keys_;
  base::Mutex mutex_;
  std::map<uint64_t, OfClient> keys_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_SIMULATED_KEYS_H_
