// A client's side of secure aggregation: sealing, its committee seat, decryption.
#ifndef TACET_CLIENT_H_
#define TACET_CLIENT_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/agreement.h"
#include "tacet/answer_journal.h"
#include "tacet/attempt_id.h"
#include "tacet/committee_seat.h"
#include "tacet/keys.h"
#include "tacet/messages.h"

namespace tacet {

namespace api {
struct Access;
struct ClientParts;
}  // namespace api

// One member of a federation with its keys. Immutable; copying is cheap, and copies may be used by
// any thread.
class Client {
 public:
  // `member` is its number in the agreement. InvalidArgument when there is no such member, or
  // `key` is not the one that the agreement names for it.
  static absl::StatusOr<Client> Create(const Agreement& agreement, uint64_t member,
                                       const MemberKey& key, const EpochKey& epoch_key);

  // The committee needs this packet to unmask the client's uploads: the server checks it
  // (Agreement::CheckKeyPacket) and gives it to every seat, once an epoch. It is the same each
  // time, also from another Client of the same keys.
  const Bytes& key_packet() const;

  // Digest of a model for AttemptId: HMAC-SHA256 of its d values as little-endian binary32 under a
  // key that follows from epoch key and agreement. All clients compute the same. The server, which
  // lacks the key, cannot confirm guesses of the model; digests under two agreements say nothing
  // about each other.
  Digest ModelDigest(std::span<const float> model) const;

  // Clips `update` (d finite values) to S and b, adds this client's share of the noise, quantises,
  // encrypts and authenticates it. With units kPerson and kRecord `update` is the sum of
  // contributions that the caller clipped to S; only b is applied.
  //
  // An update with a NaN or an infinity is sealed as zeros and reported: whether a client uploads
  // must not depend on its data. A client that must not contribute (a dummy upload, or
  // max_participations is reached) seals zeros. Randomness is the operating system's.
  //
  // Every attempt costs privacy: charge it (GuaranteeAfter) before this call. Seal once an attempt.
  // Errors: InvalidArgument for another number of values, or for an attempt that the agreement does
  // not permit.
  absl::StatusOr<SealedUpdate> Seal(const AttemptId& attempt, std::span<const float> update) const;

  // The committee's work in one attempt. `key_packets` are those of the clients whose uploads may
  // be in the sum; of a client with several the first usable one counts. Others are skipped
  // (Agreement::CheckKeyPacket): only a sum with an upload of their member gets no vote. `own` is
  // this client's upload to it. InvalidArgument for an attempt that the agreement does not permit;
  // NotFound when this client is not on the committee.
  absl::StatusOr<CommitteeSeat> Seat(const AttemptId& attempt, std::span<const Bytes> key_packets,
                                     const OwnUpload& own, const AnswerJournal& journal) const;

  // The aggregate, after all of these hold: enough seats voted for this closed round, their unmask
  // shares lie on one codeword, the MAC shows that each upload was counted exactly once, and the
  // sum is within the bounds of honest updates. Nobody's word is taken for it. Errors:
  //   Unavailable         more votes or shares may help,
  //   FailedPrecondition  a message belongs to another attempt,
  //   DataLoss            the sum is damaged or manipulated; the text says which check failed,
  //   InvalidArgument     the agreement does not permit the attempt.
  absl::StatusOr<Aggregate> Decrypt(const AttemptId& attempt,
                                    const DecryptionMessages& messages) const;

 private:
  friend struct api::Access;
  explicit Client(std::shared_ptr<const api::ClientParts> parts);

  std::shared_ptr<const api::ClientParts> parts_;
};

}  // namespace tacet

#endif  // TACET_CLIENT_H_
