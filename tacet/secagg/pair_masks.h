// Keys that a client and a committee seat share for an epoch, and the masks that follow from them.
#ifndef TACET_SECAGG_PAIR_MASKS_H_
#define TACET_SECAGG_PAIR_MASKS_H_

#include <cstdint>
#include <span>

#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {

inline constexpr size_t kPairKeyBytes = 32;

// Pair whose key is derived.
struct PairContext {
  crypto::Digest manifest_hash{};
  uint32_t epoch = 0;
  uint64_t client = 0;    // its member number
  uint32_t seat = 0;      // of the committee, from 0
  crypto::Digest list{};  // ListDigest of the client's key packet
};

// Sources of a pair's key, 32 bytes each.
struct PairSources {
  const crypto::SecretBytes& agreed;     // X25519 of both exchange keys
  const crypto::SecretBytes& shared;     // ML-KEM-768, by the client's key packet (key_packet.h)
  const crypto::SecretBytes& epoch_key;  // keeps a pair apart from anyone who is not a member
};

// HKDF-SHA256(agreed ‖ shared ‖ epoch key, "tacet/2/pair" ‖ manifest hash ‖ epoch u32 ‖ client u64
// ‖ seat u32 ‖ list), 32 bytes. It is secret as long as one of `agreed` and `shared` is.
crypto::SecretBytes DerivePairKey(const PairSources& sources, const PairContext& context);

// Fills `mask` with words that are uniform below p = 65521: the u16 words of AES-256-CTR under
// HKDF-SHA256(pair key, "tacet/1/mask" ‖ attempt ‖ nonce), from a zero counter block; words that
// are not below p are skipped. The nonce is that of the upload, so that two seals share no mask.
void ExpandMask(std::span<const uint8_t> pair_key, const Attempt& attempt, const SealNonce& nonce,
                std::span<uint16_t> mask);

// Σ of masks mod p over several uploads.
class MaskAccumulator {
 public:
  MaskAccumulator(const Attempt& attempt, size_t words)
      : attempt_(attempt), mask_(words), sums_(words) {}

  void Add(std::span<const uint8_t> pair_key, const SealNonce& nonce);
  // Words below p.
  crypto::SecretVector<uint16_t> Finish();

 private:
  static constexpr uint32_t kAddedAtOnce = 65536;  // words below 2^16 fit 32 bits

  void Reduce();

  Attempt attempt_;
  crypto::SecretVector<uint16_t> mask_;
  crypto::SecretVector<uint32_t> sums_;
  uint32_t added_ = 0;  // since they were reduced
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_PAIR_MASKS_H_
