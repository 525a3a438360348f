#include "tacet/committee_seat.h"

#include <utility>

#include "tacet/agreement/pair_keys.h"
#include "tacet/api/core/parts.h"
#include "tacet/api/core/seat_parts.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"

namespace tacet {
namespace api {

std::string AnswerKey(const secagg::Attempt& attempt, secagg::JournalStep step) {
  base::ByteWriter bytes;
  secagg::WriteAttempt(attempt, bytes);
  return base::ToHex(crypto::Sha256(bytes.bytes())) + "-" +
         std::string(secagg::JournalStepName(step));
}

absl::Status CallersJournal::Record(const secagg::Attempt& attempt, secagg::JournalStep step,
                                    std::span<const uint8_t> message) {
  return journal_.record(AnswerKey(attempt, step), message);
}

absl::StatusOr<base::Bytes> CallersJournal::Find(const secagg::Attempt& attempt,
                                                 secagg::JournalStep step) const {
  TACET_ASSIGN_OR_RETURN(std::optional<Bytes> message, journal_.find(AnswerKey(attempt, step)));
  if (!message) return base::NotFound("nothing was recorded");
  return *std::move(message);
}

namespace {

secagg::PairKeyOf PairKeysOfSeat(const ClientParts& parts, uint32_t seat) {
  return [&parts, seat](uint64_t client) {
    return agreement::PairKeyOfClient(ManifestOf(parts.agreement),
                                      {.exchange_key = Access::Of(parts.key).exchange,
                                       .epoch_key = Access::Of(parts.epoch_key).key,
                                       .epoch = parts.agreement.options().epoch},
                                      client, seat);
  };
}

}  // namespace

SeatParts::SeatParts(const Client& of, const secagg::Attempt& attempt, uint32_t seat,
                     const OwnUpload& own, AnswerJournal answers)
    : client(of),
      keys(secagg::DeriveAttemptKeys(Access::Of(Access::Of(client).epoch_key).key,
                                     ManifestOf(Access::Of(client).agreement).spec().scheme,
                                     attempt)),
      pair_key_of(PairKeysOfSeat(Access::Of(client), seat)),
      journal(std::move(answers)),
      member({.terms = ManifestOf(Access::Of(client).agreement).terms(),
              .committee = ManifestOf(Access::Of(client).agreement).committee(),
              .signing_key = Access::Of(Access::Of(client).key).signing,
              .result_key = keys.result_key,
              .pair_key_of = pair_key_of,
              .journal = journal,
              .entropy = entropy},
             attempt, seat, ManifestOf(Access::Of(client).agreement).spec().sampling.clients,
             {.nonce = own.nonce, .acknowledged = own.acknowledged}) {}

}  // namespace api

CommitteeSeat::CommitteeSeat(std::unique_ptr<api::SeatParts> parts) : parts_(std::move(parts)) {}
CommitteeSeat::~CommitteeSeat() = default;
CommitteeSeat::CommitteeSeat(CommitteeSeat&&) noexcept = default;
CommitteeSeat& CommitteeSeat::operator=(CommitteeSeat&&) noexcept = default;

absl::StatusOr<Bytes> CommitteeSeat::Vote(std::span<const uint8_t> closed_round,
                                          std::span<const uint8_t> roster) {
  return parts_->member.Vote(closed_round, roster);
}

absl::StatusOr<Bytes> CommitteeSeat::Unmask(std::span<const Bytes> votes) {
  return parts_->member.Unmask(votes);
}

}  // namespace tacet
