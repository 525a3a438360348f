// An opener's side of one attempt: it signs first, then decrypts when it has a majority's
// signatures.
#ifndef TACET_SECAGG_OPENER_H_
#define TACET_SECAGG_OPENER_H_

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/opened_sum.h"
#include "tacet/secagg/terms.h"

namespace tacet::secagg {

// Journal in which an opener records each answer before it gives it, so that after a crash it
// repeats itself instead of answering a second question about the same attempt.
class OpenerJournal {
 public:
  virtual ~OpenerJournal() = default;
  // Durable when it returns OK.
  virtual absl::Status Record(const Attempt& attempt, std::string_view step,
                              std::span<const uint8_t> message) = 0;
  // The recorded message; NotFound when there is none.
  virtual absl::StatusOr<base::Bytes> Find(const Attempt& attempt, std::string_view step) const = 0;
};

// One opener in one attempt. It signs at most one closed round, decrypts at most once, and only
// what a majority of the attempt's openers has signed; it returns the sum only when the MAC fits.
// An error of Review or Open says what was wrong and is for the opener's own log alone: the server
// is told RefusedForServer(). Not thread-safe.
class Opener {
 public:
  // `openers` are all openers of this attempt, `self` the member this object acts for; `terms`,
  // `signing_key`, `journal` and `entropy` must outlive it. InvalidArgument when `self` is not one
  // of the openers.
  static absl::StatusOr<std::unique_ptr<Opener>> Create(
      const Terms& terms, const Attempt& attempt, AttemptKeys keys,
      std::vector<OpenerIdentity> openers, uint64_t self, const crypto::SigningKey& signing_key,
      OpenerJournal& journal, crypto::Entropy& entropy);

  // First step: checks the server's ClosedRound message and returns this opener's vote for it. The
  // same message again returns the same vote; another one is refused.
  absl::StatusOr<base::Bytes> Review(std::span<const uint8_t> closed_round);

  // Second step: with votes of a majority (its own counts, and need not be among them), decrypts,
  // verifies the tag and returns the OpenedSum message; again, the same bytes. Votes that are
  // damaged, of strangers or for another sum do not count.
  absl::StatusOr<base::Bytes> Open(std::span<const base::Bytes> votes);

 private:
  Opener(const Terms& terms, const Attempt& attempt, AttemptKeys keys,
         std::vector<OpenerIdentity> openers, uint64_t self, const crypto::SigningKey& signing_key,
         OpenerJournal& journal, crypto::Entropy& entropy);

  struct Waiting {};
  struct Voted {
    ClosedRound round;
    crypto::Digest hash;
    base::Bytes vote;
  };
  struct Opened {
    crypto::Digest hash;
    base::Bytes vote;
    base::Bytes result;
  };
  struct Refused {
    absl::Status reason;
  };

  absl::Status CheckMajority(const crypto::Digest& hash, std::span<const base::Bytes> votes) const;
  absl::StatusOr<PackedSum> DecryptAndVerify(const ClosedRound& round) const;

  const Terms& terms_;
  Attempt attempt_;
  AttemptKeys keys_;
  std::vector<OpenerIdentity> openers_;
  uint64_t self_;
  const crypto::SigningKey& signing_key_;
  OpenerJournal& journal_;
  crypto::Entropy& entropy_;
  std::variant<Waiting, Voted, Opened, Refused> state_;
};

// A vote: magic, version, attempt, member u64, hash, signature.
base::Bytes WriteVote(const Attempt& attempt, uint64_t member, const crypto::Digest& hash,
                      const crypto::SigningKey& key);

// All that the server learns of a refusal, whatever its cause.
absl::Status RefusedForServer();

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_OPENER_H_
