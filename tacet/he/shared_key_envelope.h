// The key envelope of a group whose members share one secret.
#ifndef TACET_HE_SHARED_KEY_ENVELOPE_H_
#define TACET_HE_SHARED_KEY_ENVELOPE_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

#include "tacet/crypto/secret.h"
#include "tacet/he/key_envelope.h"

namespace tacet::he {

// An encryption of the one-time key k ~ CBD(21)^N under the group's ternary secret s, in the
// payload's ring (N = 4096, Q = p0 p1):
//   b = a s + e + 2^kappa m mod Q,   e ~ CBD(21)^N,
// m holding k as signed codes, several slots of w bits a coefficient. b is sent truncated
// (truncated_planes.h), as far as coefficients are used; a is expanded from 32 bytes that are fresh
// in every seal and travel with it. (Two envelopes with one a would show the difference of their
// keys.) Adding needs Σb and Σa; opening finds Σm = (Σb - (Σa) s) / 2^kappa, rounded.
class SharedKeyEnvelope final : public KeyEnvelope {
 public:
  // The smallest layout that holds sums of `max_participants` keys:
  //   K <=     8191: 6 slots of 14 bits, kappa = 14      K <=  131071: 4 of 18, kappa = 16
  //   K <=    18820: 5 slots of 16 bits, kappa = 14      K <= 1048575: 3 of 21, kappa = 17
  // A slot of w bits holds |Σk| <= 2^(w-1) - 1: 8191, 32767, 131071 and 1048575. CBD(21) is
  // sub-Gaussian with its variance 10.5, so a coefficient of Σk exceeds z sqrt(10.5 K), z as in
  // compact.h, with probability below 2^-80: 3108, 4711, 12432 and 35162 at these K.
  // InvalidArgument for more participants.
  static absl::StatusOr<SharedKeyEnvelope> Create(uint32_t max_participants);

  uint32_t lanes() const { return lanes_; }
  uint32_t lane_bits() const { return lane_bits_; }
  uint32_t scale_bits() const { return scale_bits_; }
  // Coefficients of b that carry slots, ceil(N / lanes()).
  size_t used_coefficients() const;

  // Planes of b, then the seed of a: 12 used_coefficients() + 32.
  size_t sealed_bytes() const override;
  // Residues of Σb, then Σa in the NTT domain: 16 (used_coefficients() + N).
  size_t sum_bytes() const override;
  std::unique_ptr<EnvelopeAdder> NewAdder() const override;

  // `group_secret` has 32 bytes; s is expanded from it here, once.
  std::unique_ptr<EnvelopeSealer> NewSealer(const crypto::SecretBytes& group_secret) const;
  std::unique_ptr<EnvelopeOpener> NewOpener(const crypto::SecretBytes& group_secret) const;

 private:
  SharedKeyEnvelope(uint32_t lanes, uint32_t lane_bits, uint32_t scale_bits)
      : lanes_(lanes), lane_bits_(lane_bits), scale_bits_(scale_bits) {}

  uint32_t lanes_;
  uint32_t lane_bits_;
  uint32_t scale_bits_;
};

}  // namespace tacet::he

#endif  // TACET_HE_SHARED_KEY_ENVELOPE_H_
