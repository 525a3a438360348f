// Check of single clients' shares, which reveals nothing about their keys.
//
// Behind the polynomials P_b, b < B, of its key a client shares eight with random secrets. For
// factors rho that nobody knew when the shares were sent,
//   R_j = P_(B+j) + sum_(b < B) rho_(j,b) P_b,   j < 8,
// have degree below t like all of them, if the shares are right; and if not, only with probability
// p^-8. A seat gives the same combination of its mask of the client, and the server knows that of
// the client's shares: their difference is R_j at the seat's point. P_(B+j) makes R_j uniform
// (docs/security/committee.md, "Check of shares"). That holds for one choice of rho a client and
// attempt, so rho follows from the hash for which a quorum voted.
#ifndef TACET_HE_SHARE_CHECK_H_
#define TACET_HE_SHARE_CHECK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tacet/crypto/hash.h"
#include "tacet/he/key_sharing.h"

namespace tacet::he {

// One word below p for each R_j.
using ShareCombination = std::array<uint16_t, kCheckWords>;

// The factors rho. Immutable.
class ShareCheck {
 public:
  // rho_(j,b) is the word j B + b of AES-256-CTR under `seed`, as in a mask.
  ShareCheck(const KeySharing& sharing, const crypto::Digest& seed);

  // For the B + 8 words of one mask or for the shares for one seat, each below p. The time does not
  // depend on them.
  ShareCombination Combine(std::span<const uint16_t> words) const;

 private:
  size_t key_words_;
  std::vector<uint16_t> factors_;
};

// Combinations of one seat's masks, by client.
struct SeatCombinations {
  uint32_t seat = 0;  // below n, no two alike
  std::span<const ShareCombination> of_masks;
};

// Clients by their place, increasing.
struct WrongShares {
  // Their shares are wrong, unless more than f seats lie: no set of at most f seats explains them.
  std::vector<size_t> named;
  // They hold all of `named`. Those besides are in dispute: they have wrong shares, or seats lie.
  std::vector<size_t> disputed;
};

// The conclusion from the seats' combinations. A client fits without a set of seats
// when the values of the other seats lie on polynomials of degree below t.
//   named: fit without no set of f seats. None with a - f <= t seats.
//   disputed: do not fit without the set of at most min(f, floor((a - t) / 2)) seats for which they
//   are fewest. None with a <= t seats. A lying seat may put a client there.
// `shares[i]` has share_bytes() canonical bytes.
WrongShares FindWrongShares(const KeySharing& sharing, const ShareCheck& check,
                            std::span<const SeatCombinations> seats,
                            std::span<const std::span<const uint8_t>> shares);

}  // namespace tacet::he

#endif  // TACET_HE_SHARE_CHECK_H_
