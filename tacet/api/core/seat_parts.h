// Contents of a committee seat: its session, and everything that the session refers to.
#ifndef TACET_API_CORE_SEAT_PARTS_H_
#define TACET_API_CORE_SEAT_PARTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/answer_journal.h"
#include "tacet/base/bytes.h"
#include "tacet/client.h"
#include "tacet/committee_seat.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/committee_member.h"
#include "tacet/secagg/journal.h"

namespace tacet::api {

// Name of an entry: SHA-256 of the attempt in hexadecimal digits, "-vote", "-share" or "-lists".
std::string AnswerKey(const secagg::Attempt& attempt, secagg::JournalStep step);

// The caller's two functions as the interface that a committee member writes to.
class CallersJournal final : public secagg::Journal {
 public:
  explicit CallersJournal(AnswerJournal journal) : journal_(std::move(journal)) {}

  absl::Status Record(const secagg::Attempt& attempt, secagg::JournalStep step,
                      std::span<const uint8_t> message) override;
  absl::StatusOr<base::Bytes> Find(const secagg::Attempt& attempt,
                                   secagg::JournalStep step) const override;

 private:
  AnswerJournal journal_;
};

// For a seat, by client.
using PairKeys = std::map<uint64_t, secagg::ListedPairKey>;

// By whole packets. Unusable ones are skipped.
absl::StatusOr<PairKeys> PairKeysOf(const ClientParts& parts, uint32_t seat,
                                    std::span<const Bytes> key_packets);

struct SeatParts {
  SeatParts(const Client& client, const secagg::Attempt& attempt, uint32_t seat, PairKeys pair_keys,
            const OwnUpload& own, AnswerJournal answers);
  SeatParts(const SeatParts&) = delete;
  SeatParts& operator=(const SeatParts&) = delete;

  const Client client;
  const secagg::AttemptKeys keys;
  const PairKeys pair_keys;
  const secagg::PairKeyOf pair_key_of;
  CallersJournal journal;
  crypto::SystemEntropy entropy;
  secagg::CommitteeMember member;  // refers to all of the above
};

}  // namespace tacet::api

#endif  // TACET_API_CORE_SEAT_PARTS_H_
