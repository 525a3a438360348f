// Search for the sum of the keys in the answers of a committee, of which some may be wrong.
#ifndef TACET_HE_KEY_CANDIDATES_H_
#define TACET_HE_KEY_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/crypto/secret.h"
#include "tacet/he/key_sharing.h"

namespace tacet::he {

// Most sums of keys that are tried against the MAC of one sum.
inline constexpr size_t kMostKeyTrials = 128;

// All codewords on which at least t answers lie, by increasing number of answers that do not lie on
// them. The values of answer a at its seat's point are those of B polynomials of degree below t =
// f + l, and t of them determine these. The first codeword is the sum of the keys if at most
// floor((a - t) / 2) answers are wrong: no other one has so few. With more wrong answers the MAC of
// the decrypted sum tells the right one (secagg/round_decryption.h).
class KeyCandidates {
 public:
  // Errors are those of KeySharing::Recover, except that the answers need not fit together. All but
  // the answers' words are copied.
  static absl::StatusOr<KeyCandidates> Create(const KeySharing& sharing,
                                              std::span<const uint8_t> share_sums,
                                              std::span<const KeySharing::Answer> answers);

  // floor((a - t) / 2): with no more wrong answers the first codeword is the right one.
  size_t correctable() const { return (seats_.size() - threshold_) / 2; }
  // Answers that are left out at most. a - t where at most kMostKeyTrials sets of t answers exist.
  // Otherwise one fewer, so that one more answer than determines a codeword has to lie on it.
  size_t most_left_out() const { return most_left_out_; }

  // The next codeword, on which all but at most `left_out` answers lie. Its wrong seats are all
  // seats whose answers do not lie on it. Nothing when there is no other one.
  std::optional<KeySharing::Recovery> Next(size_t left_out);

 private:
  KeyCandidates() = default;

  // Continues to the next set of answers to leave out.
  bool Advance(size_t left_out);
  // The set contains all answers that do not lie on some earlier codeword, so it leads to that one.
  bool IsKnown() const;
  // The sum of the keys without the set. `is_codeword` says whether the other answers lie on one,
  // also where the secrets behind the key are not 0.
  std::optional<KeySharing::Recovery> Try(bool& is_codeword);

  size_t threshold_ = 0;
  size_t packing_ = 0;
  size_t key_words_ = 0;
  size_t most_left_out_ = 0;
  std::vector<uint32_t> seats_;                         // of the answers
  std::vector<crypto::SecretVector<uint32_t>> values_;  // P_b at the point of each answer
  bool begun_ = false;
  std::vector<size_t> left_out_;            // the set, increasing places of answers
  std::vector<std::vector<size_t>> known_;  // the sets that led to earlier codewords
};

}  // namespace tacet::he

#endif  // TACET_HE_KEY_CANDIDATES_H_
