// Packed secret sharing of one-time keys among a committee.
//
// Field F_p, p = 65521. A committee has n seats, of which f may be corrupt. v = floor((n + f) / 2)
// + 1 seats must vote for a round. A polynomial carries l = v - f coefficients of a key (or l = 1),
// so B = 2 ceil(2048 / l) polynomials share a key k of N = 4096 coefficients. Polynomial P_b has
// degree below f + l and
//   P_b(p - 1 - s) = k[s B + b]   for s < l (0 where s B + b >= N),
//   P_b(c + 1) = -mask_c[b]       for the first f seats c, for which nothing is sent.
// Eight more, P_B ... P_(B+7), have random secrets: with them each client's shares can be checked
// (share_check.h). For each seat c >= f the client sends P_b(c + 1) + mask_c[b]. Masks are
// pseudo-random and known to the client and the seat alone (secagg/pair_masks.h). Sums of shares,
// less the sums of masks that f + l seats give, determine the sum of the keys (Franklin and Yung
// 1992; docs/security/committee.md).
#ifndef TACET_HE_KEY_SHARING_H_
#define TACET_HE_KEY_SHARING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/secret.h"
#include "tacet/he/share_field.h"

namespace tacet::he {

inline constexpr size_t kCheckWords = 8;  // polynomials with random secrets

// Unchecked size of a committee, from a caller.
struct CommitteeShape {
  uint32_t seats = 0;    // n, 1..kMaxSeats
  uint32_t corrupt = 0;  // f < n, seats that may be corrupt
  uint32_t packing = 0;  // l: v - f, or 1; 0 takes v - f

  friend bool operator==(const CommitteeShape&, const CommitteeShape&) = default;
};

inline constexpr uint32_t kMaxSeats = 20;

// Reads "N,F": seats and corrupt seats. InvalidArgument for anything else; whether the shape can
// work is for KeySharing::Create to say.
absl::StatusOr<CommitteeShape> ParseCommittee(std::string_view text);

// The checked shape, with what follows from it. Immutable and cheap to copy.
class KeySharing {
 public:
  // InvalidArgument names the field that is out of range.
  static absl::StatusOr<KeySharing> Create(const CommitteeShape& shape);

  const CommitteeShape& shape() const { return shape_; }  // packing is never 0
  // v: two sets of v seats share more than f, hence an honest one.
  uint32_t votes() const { return votes_; }
  // f + l <= v: seats whose masks determine a key. A sum is decrypted with v of them, whatever l is
  // (docs/design/rounds.md, "Opening of an epoch").
  uint32_t threshold() const { return shape_.corrupt + shape_.packing; }
  // Whether so many answers are enough for a sum and one of them more than determines it, so that
  // wrong shares show.
  bool ShowsWrongShares(size_t answers) const { return answers >= votes_ && answers > threshold(); }
  // B: polynomials that carry a key. Even.
  size_t key_words() const { return key_words_; }
  // B + 8: words below p in a mask, and in the share of a seat.
  size_t mask_words() const { return key_words_ + kCheckWords; }
  // 8 l: random secrets of the polynomials behind those of the key.
  size_t check_secrets() const { return kCheckWords * shape_.packing; }
  // n - f: seats to which shares are sent, the last ones.
  uint32_t shared_seats() const { return shape_.seats - shape_.corrupt; }
  // All shares of one key: 2 (n - f) (B + 8) bytes, little-endian u16 seat after seat.
  size_t share_bytes() const { return 2 * mask_words() * shared_seats(); }

  // Keys of so many participants add up to less than p / 2 in every coefficient, but for a
  // probability below 2^-80 a coefficient: CBD(21) is sub-Gaussian with variance 10.5 (compact.h).
  static uint32_t MaxParticipants();

  // Writes the shares of `key` (4096 coefficients in [-128, 127]) and of `checks` (check_secrets()
  // uniform words below p: P_(B+j) has checks[8 s + j] at the point of secret s). `masks` holds
  // n (B + 8) words below p, seat after seat. The time does not depend on any of them.
  void Share(std::span<const int8_t> key, std::span<const uint16_t> checks,
             std::span<const uint16_t> masks, std::span<uint8_t> shares) const;

  // Position of the first word that is not below p.
  static std::optional<size_t> FindNonCanonical(std::span<const uint8_t> shares);

  // Sum of masks over all participants, as a seat gives it.
  struct Answer {
    uint32_t seat = 0;                    // below n, no two alike
    std::span<const uint16_t> mask_sums;  // B + 8 words below p
  };
  struct Recovery {
    crypto::SecretVector<int32_t> key_sum;  // 4096 coefficients in (-p/2, p/2)
    std::vector<uint32_t> wrong_seats;      // whose answers do not fit, increasing
  };
  // The sum of the keys from the sum of the shares (mod p, as bytes of shares) and the answers of
  // at least threshold() seats. a answers correct up to floor((a - threshold()) / 2) wrong ones.
  // Unavailable when there are too few answers; DataLoss when more of them are wrong (another
  // answer may help) and when `share_sums` is not canonical. Aborts on answers that are not below
  // p. More wrong answers than that can also lead to another codeword, another key and a right
  // seat's name. Only a sum whose MAC fits shows that they did not (secagg/round_decryption.h). The
  // eight last words of an answer carry no key, so no MAC depends on them: they are not looked at.
  absl::StatusOr<Recovery> Recover(std::span<const uint8_t> share_sums,
                                   std::span<const Answer> answers) const;
  // The error where no codeword has all but `correctable` of the answers.
  static absl::Status DoNotFit(size_t answers, size_t correctable);

 private:
  KeySharing(const CommitteeShape& shape, uint32_t votes);

  std::vector<uint32_t> SecretPoints() const;

  CommitteeShape shape_;
  uint32_t votes_;
  size_t key_words_;
  ShareMatrix share_matrix_;  // from (secrets, first f seats) to the other seats
};

// sum[i] = (sum[i] + addend[i]) mod p, for canonical words of equal number.
void AddShares(std::span<const uint8_t> addend, std::span<uint8_t> sum);

// Sums of shares, word by word mod p.
class ShareSums {
 public:
  explicit ShareSums(const KeySharing& sharing) : words_(sharing.share_bytes() / 2) {}

  // Adds shares that FindNonCanonical found canonical.
  void Add(std::span<const uint8_t> shares);
  void Merge(const ShareSums& other);
  // Writes the sums, each below p, as little-endian u16.
  void Write(std::span<uint8_t> shares) const;

 private:
  std::vector<uint64_t> words_;
};

}  // namespace tacet::he

#endif  // TACET_HE_KEY_SHARING_H_
