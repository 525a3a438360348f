// A committee member's side of one attempt: one vote, then one unmask share, and a check row where
// the sum is wrong.
#ifndef TACET_SECAGG_COMMITTEE_MEMBER_H_
#define TACET_SECAGG_COMMITTEE_MEMBER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/journal.h"
#include "tacet/secagg/terms.h"

namespace tacet::secagg {

// The pair key of a client with this seat (pair_masks.h), and the list of the key packet that it
// follows from (ListDigest).
struct ListedPairKey {
  crypto::Digest list{};
  crypto::SecretBytes key;

  ListedPairKey Copy() const { return {list, crypto::SecretBytes::CopyOf(key.Expose())}; }
};
// NotFound for a client that is none, or whose key packet this seat does not have.
using PairKeyOf = std::function<absl::StatusOr<ListedPairKey>(uint64_t client)>;

// Must outlive the committee member.
struct CommitteeMemberParts {
  const Terms& terms;
  const Committee& committee;
  const crypto::SigningKey& signing_key;
  const crypto::SecretBytes& result_key;
  const PairKeyOf& pair_key_of;
  Journal& journal;
  crypto::Entropy& entropy;
};

// This member's own upload to the attempt.
struct OwnUpload {
  std::optional<SealNonce> nonce;  // none when it sealed none
  bool acknowledged = false;       // by the server: it must be in the sum
};

// One seat in one attempt. It votes for at most one closed round, and answers only for a closed
// round for which v seats have voted. The answer is a function of the roster alone, so it can be
// given any number of times. Every answer is in the journal before it is given. An error says what
// was wrong and is for the member's own log: the server is told RefusedForServer(). Not
// thread-safe.
class CommitteeMember {
 public:
  // `clients` is M; `seat` is below the committee's size.
  CommitteeMember(const CommitteeMemberParts& parts, const Attempt& attempt, uint32_t seat,
                  uint64_t clients, const OwnUpload& own);

  // First step: checks both messages and returns this seat's vote. K_min <= K', all members
  // different and of the federation, each with a pair key that follows from the roster's list, and
  // with no other list in this epoch; this member in the roster with its own upload if that was
  // acknowledged, and with no other. The same messages again return the same vote; others are
  // refused.
  absl::StatusOr<base::Bytes> Vote(std::span<const uint8_t> closed_round,
                                   std::span<const uint8_t> roster);

  // Second step: with v votes (its own counts and need not be among them) the UnmaskShare message;
  // again, the same bytes. Unavailable with fewer.
  absl::StatusOr<base::Bytes> Unmask(std::span<const base::Bytes> votes);

  // When the sum cannot be decrypted: the CheckRow message, with which wrong shares are found.
  // FailedPrecondition before the unmask share, so that a quorum has voted for the one hash from
  // which its factors follow. The same bytes every time.
  absl::StatusOr<base::Bytes> CheckShares() const;

 private:
  absl::Status CheckRoster(const Roster& roster, const ClosedRound& round) const;
  // With the i-th member of a roster. FailedPrecondition for a key of another list.
  absl::StatusOr<crypto::SecretBytes> PairKeyWith(const Roster& roster, size_t i) const;

  CommitteeMemberParts parts_;
  Attempt attempt_;
  uint32_t seat_;
  uint64_t clients_;
  OwnUpload own_;
  // For the closed round that was voted for.
  struct Voted {
    crypto::Digest hash{};
    std::vector<SealNonce> nonces;
    Roster roster;
    base::Bytes vote;
  };
  std::optional<Voted> voted_;
};

// All that the server learns of a refusal, whatever its cause.
absl::Status RefusedForServer();

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_COMMITTEE_MEMBER_H_
