// A participant's side of one attempt: from an update to the bytes it uploads.
#ifndef TACET_SECAGG_SEALER_H_
#define TACET_SECAGG_SEALER_H_

#include <functional>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/clip.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/terms.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {

// A sealed update, ready to be stored and sent; sent again unchanged, never sealed again.
struct SealedUpload {
  base::Bytes bytes;
  SealNonce nonce{};    // that is in `bytes`
  dp::ClipReport clip;  // for the participant's own eyes: it depends on its data
};

// Seals updates for one attempt: clip, noise, quantise, tag, encrypt. Immutable and thread-safe:
// one object serves all participants that a process plays. It expands the round's public
// polynomials once.
class Sealer {
 public:
  static absl::StatusOr<std::unique_ptr<Sealer>> Create(const Terms& terms, const Attempt& attempt,
                                                        const AttemptKeys& keys);

  // Seals `update` (terms.dimension() floats). `pair_keys` are this client's with all
  // committee seats, 32 bytes a seat, by seat (pair_masks.h); empty for the paper's schemes. A
  // non-finite update is sealed as the zero vector and reported in `clip.finite`: whether an upload
  // is sent never depends on the data. Every seal draws 32 bytes from `entropy` and mixes in the
  // attempt and the update itself, so that two seals share nothing even on a machine whose state
  // was cloned.
  absl::StatusOr<SealedUpload> Seal(std::span<const float> update,
                                    const crypto::SecretBytes& pair_keys,
                                    crypto::Entropy& entropy) const;

  // Tags and encrypts counts that were quantised before and are never all there: `counts_of` gives
  // `size` of them from `first` on, in order, a payload polynomial's at a time. Each block is made,
  // tagged and encrypted while it is in the cache. `seal_key` has 32 fresh secret bytes of this
  // seal alone.
  using CountsOfBlock = std::function<std::span<const uint32_t>(uint64_t first, uint64_t size)>;
  absl::StatusOr<base::Bytes> SealBlocks(const CountsOfBlock& counts_of,
                                         const crypto::SecretBytes& pair_keys,
                                         const crypto::SecretBytes& seal_key) const;

 private:
  Sealer(const Terms& terms, const Attempt& attempt, const AttemptKeys& keys,
         std::unique_ptr<he::Encryptor> encryptor);

  Terms terms_;
  Attempt attempt_;
  dp::Mechanism mechanism_;
  he::HomomorphicMacKey tag_key_;
  std::unique_ptr<he::Encryptor> encryptor_;
};

// The keys of one seal: 32 bytes of `entropy` under HKDF with the attempt and a hash of the update.
crypto::SecretBytes DrawSealKey(const Attempt& attempt, std::span<const float> update,
                                crypto::Entropy& entropy);

// A generator for one use of a seal's key ("noise", "quantise").
crypto::Random SealRandom(const crypto::SecretBytes& seal_key, std::string_view use);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_SEALER_H_
