// Opening of an epoch: the seats' signed statements about the state with which it begins
// (docs/design/opening.md).
#ifndef TACET_PROTOCOL_EPOCH_OPENING_H_
#define TACET_PROTOCOL_EPOCH_OPENING_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/protocol/checkpoint.h"

namespace tacet::protocol {

// A state that a round begins with.
struct OpeningState {
  uint32_t round = 0;
  crypto::Digest model_digest{};  // StateDigests::model
  crypto::Digest state_digest{};  // StateDigests::state

  friend auto operator<=>(const OpeningState&, const OpeningState&) = default;
};
OpeningState OpeningStateOf(uint32_t round, const StateDigests& digests);

// The statement of one seat. The numbers are part of the format.
enum class OpeningWord : uint8_t {
  kHas = 1,   // it has this state
  kVote = 2,  // the epoch begins with this state: a seat says so of one in an epoch
};

struct OpeningStatement {
  OpeningWord word = OpeningWord::kHas;
  uint64_t member = 0;
  OpeningState state;
  // The seat's state before its last round, as long as it can go back; of kHas only. In one
  // statement with what it has, so that nobody hears of this one alone.
  std::optional<OpeningState> earlier = std::nullopt;

  friend bool operator==(const OpeningStatement&, const OpeningStatement&) = default;
};

base::Bytes WriteOpeningStatement(const OpeningStatement& statement,
                                  const agreement::SignedManifest& manifest,
                                  const crypto::SigningKey& key);
// DataLoss when cut short or with an unknown word; FailedPrecondition when it is for another
// manifest or epoch; PermissionDenied when the member has no seat or did not sign it.
absl::StatusOr<OpeningStatement> ReadOpeningStatement(std::span<const uint8_t> bytes,
                                                      const agreement::SignedManifest& manifest);

// Votes with which an epoch begins: the quorum of a round's votes, so that two quorums share an
// honest seat and an epoch has one beginning.
size_t OpeningQuorum(const agreement::Manifest& manifest);

// The numbers of a committee that decide an opening.
struct OpeningRules {
  size_t seats = 0;    // n
  size_t quorum = 0;   // v: votes with which the epoch begins (OpeningQuorum)
  size_t holders = 0;  // Q: seats that support a state that is held (StateQuorum)
};
OpeningRules OpeningRulesOf(const agreement::Manifest& manifest);

// Statements of the seats under the rules of docs/design/opening.md. A state is supported by the
// seats that have it, had it before their last round, or voted for it: a seat votes for what enough
// others support.
class OpeningTally {
 public:
  explicit OpeningTally(const OpeningRules& rules) : rules_(rules) {}
  explicit OpeningTally(const agreement::Manifest& manifest)
      : OpeningTally(OpeningRulesOf(manifest)) {}

  // A seat's first vote counts.
  void Add(const OpeningStatement& statement);

  // The state that v seats vote for.
  std::optional<OpeningState> Opened() const;
  // The last state that IsHeld and CanBeOpened; the one of this round.
  std::optional<OpeningState> Held() const;
  std::optional<OpeningState> HeldAt(uint32_t round) const;
  // Whether Q seats support it, so that an honest one has it.
  bool IsHeld(const OpeningState& state) const;
  // Whether so few seats voted for other states that a quorum for this one may come.
  bool CanBeOpened(const OpeningState& state) const;
  // The vote of a seat; null when it gave none.
  const OpeningState* VoteOf(uint64_t member) const;
  bool HasHeard(uint64_t member) const { return heard_.contains(member); }
  size_t heard() const { return heard_.size(); }  // seats that said anything

 private:
  OpeningRules rules_;
  std::map<uint64_t, OpeningState> votes_;                 // by member
  std::map<OpeningState, std::set<uint64_t>> supporters_;  // members
  std::set<uint64_t> heard_;                               // members
};

// For statements as they were fetched. Those that cannot be read do not count.
OpeningTally TallyOf(std::span<const base::Bytes> statements,
                     const agreement::SignedManifest& manifest);

// Which of the seats' statements `has` a server returns while it asks for votes for `asked`, as
// indices: of all seats that have the state; of seats that had it before, as many as make it held;
// and of others until a quorum was heard. No more of them, because a seat that has heard more of
// those that are ahead does not go back.
std::vector<size_t> StatementsToHandOut(const OpeningState& asked,
                                        std::span<const OpeningStatement> has,
                                        const OpeningRules& rules);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_EPOCH_OPENING_H_
