// Opening of an epoch: the seats' signed statements about the state with which it begins
// (docs/design/rounds.md).
#ifndef TACET_PROTOCOL_EPOCH_OPENING_H_
#define TACET_PROTOCOL_EPOCH_OPENING_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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

// What one seat says. The numbers are part of the format.
enum class OpeningWord : uint8_t {
  kHas = 1,   // it has this state, or had it before its last round
  kVote = 2,  // the epoch begins with this state: a seat says so of one in an epoch
};

struct OpeningStatement {
  OpeningWord word = OpeningWord::kHas;
  uint64_t member = 0;
  OpeningState state;

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

// Statements of different seats, each seat counted for its first vote, and for its first state of a
// round.
class OpeningTally {
 public:
  explicit OpeningTally(const agreement::Manifest& manifest) : manifest_(&manifest) {}

  void Add(const OpeningStatement& statement);

  // The state that OpeningQuorum seats vote for.
  std::optional<OpeningState> Opened() const;
  // The last state that StateQuorum seats have.
  std::optional<OpeningState> Held() const;
  // The state with the most votes, of these the last one.
  std::optional<OpeningState> Leading() const;

  // The vote of a seat; null when it gave none.
  const OpeningState* VoteOf(uint64_t member) const;
  bool HasHeard(uint64_t member) const;
  size_t heard() const;  // seats

 private:
  const agreement::Manifest* manifest_;
  std::map<uint64_t, OpeningState> votes_;                       // by member
  std::map<uint64_t, std::map<uint32_t, OpeningState>> states_;  // by member and round
};

// Of statements as they were fetched. Those that cannot be read do not count.
OpeningTally TallyOf(std::span<const base::Bytes> statements,
                     const agreement::SignedManifest& manifest);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_EPOCH_OPENING_H_
