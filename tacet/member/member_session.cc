#include "tacet/member/member_session.h"

#include <algorithm>
#include <utility>

#include "tacet/agreement/pair_keys.h"
#include "tacet/base/status.h"
#include "tacet/member/announcement_checks.h"
#include "tacet/member/attestors.h"
#include "tacet/member/catching_up.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/upload.h"

namespace tacet::member {
namespace {

absl::StatusOr<std::optional<MemberMemory>> LoadMemory(const MemberState& state) {
  const absl::StatusOr<base::Bytes> kept = state.LoadMemory();
  if (kept.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(kept.status());
  TACET_ASSIGN_OR_RETURN(MemberMemory memory, ReadMemberMemory(*kept));
  return memory;
}

absl::Status CheckPermission(const MemberParts& parts) {
  if (parts.permission.manifest_hash() != parts.manifest.manifest().hash()) {
    return base::FailedPrecondition("the site's policy was asked about another manifest");
  }
  if (!parts.permission.year().has_value() || parts.permission.year() == parts.ledger.year()) {
    return absl::OkStatus();
  }
  return base::FailedPrecondition(
      "the ledger of the population \"{}\" does not keep the budget of the site's policy",
      parts.ledger.header().population);
}

// What a member remembers of an earlier training of the federation says nothing about this one.
std::optional<MemberMemory> OfTraining(std::optional<MemberMemory> memory, uint32_t training) {
  if (memory.has_value() && memory->attempt.number.epoch < training) memory.reset();
  return memory;
}

// The state goes on under a later epoch or the same manifest. An older manifest would lead back to
// members that were removed.
absl::Status CheckEpoch(const agreement::SignedManifest& manifest,
                        const std::optional<MemberMemory>& memory) {
  if (!memory.has_value()) return absl::OkStatus();
  const uint32_t epoch = memory->attempt.number.epoch;
  const crypto::Digest& hash = memory->attempt.manifest_hash;
  if (epoch > manifest.epoch()) {
    return base::FailedPrecondition(
        "this site has taken part in epoch {} of {}, and the manifest is of epoch {}: join the "
        "latest epoch with its invitation",
        epoch, manifest.federation(), manifest.epoch());
  }
  const bool is_other = (epoch == manifest.epoch() && hash != manifest.manifest().hash()) ||
                        (epoch + 1 == manifest.epoch() && hash != manifest.predecessor());
  if (!is_other) return absl::OkStatus();
  return base::FailedPrecondition(
      "this site has taken part in epoch {} of {} under another manifest than the one at hand, or "
      "than its predecessor: two manifests were signed for that epoch. Ask the coordinating member",
      epoch, manifest.federation());
}

// An update is sealed after its attempt was charged, or after the charge was refused. A ledger that
// knows of neither is older than the state.
absl::Status CheckLedgerKnows(const MemberParts& parts, const std::optional<MemberMemory>& memory) {
  if (!memory.has_value() || memory->participation != Participation::kYes) return absl::OkStatus();
  const secagg::Attempt& attempt = memory->attempt;
  const absl::Status sealed = parts.state.LoadUpload(attempt).status();
  if (sealed.code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(sealed);
  if (parts.ledger.Knows({.manifest_hash = attempt.manifest_hash, .number = attempt.number})) {
    return absl::OkStatus();
  }
  return base::DataLoss(
      "this site has sealed an update for round {} attempt {} of epoch {}, and the ledger of the "
      "population \"{}\" does not know that attempt: it is an older one; put back the ledger that "
      "was charged last",
      attempt.number.round, attempt.number.attempt, attempt.number.epoch,
      parts.ledger.header().population);
}

ledger::AttemptCost CostOf(const MemberParts& parts) {
  ledger::AttemptCost cost = ledger::AttemptCostOf(parts.manifest.manifest(), parts.ledger.header(),
                                                   parts.rule, 0, parts.earlier);
  cost.member = static_cast<uint32_t>(parts.member);
  return cost;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemberSession>> MemberSession::Create(
    const MemberParts& parts, const agreement::InitialModel& initial_model) {
  const std::vector<agreement::ManifestMember>& members = parts.manifest.members();
  if (parts.member >= members.size() ||
      members[parts.member].signing_key != parts.signing_key.public_key() ||
      members[parts.member].exchange_key != parts.exchange_key.public_key()) {
    return base::InvalidArgument("this site's keys are not those of member {} of {}", parts.member,
                                 parts.manifest.federation());
  }
  TACET_RETURN_IF_ERROR(CheckPermission(parts));
  TACET_RETURN_IF_ERROR(ledger::CheckRuleFits(parts.manifest.manifest().spec(), parts.rule));
  TACET_ASSIGN_OR_RETURN(MemberModel model,
                         MemberModel::Load(parts.manifest.manifest(), parts.digest_key(),
                                           initial_model, parts.state, parts.checkpoints));
  TACET_ASSIGN_OR_RETURN(std::optional<MemberMemory> memory, LoadMemory(parts.state));
  TACET_RETURN_IF_ERROR(CheckEpoch(parts.manifest, memory));
  TACET_RETURN_IF_ERROR(CheckLedgerKnows(parts, memory));
  TACET_RETURN_IF_ERROR(parts.ledger.CheckMember(CostOf(parts)));
  return std::unique_ptr<MemberSession>(new MemberSession(
      parts, std::move(model), OfTraining(std::move(memory), parts.manifest.training())));
}

MemberSession::MemberSession(const MemberParts& parts, MemberModel model,
                             std::optional<MemberMemory> memory)
    : parts_(parts),
      notes_(parts.log),
      model_(std::move(model)),
      cost_(CostOf(parts_)),
      memory_(std::move(memory)),
      entry_(parts_, notes_, model_),
      unmasking_(parts_, notes_),
      reached_(parts_.clock()) {}

absl::StatusOr<MemberSession::Progress> MemberSession::Step() {
  TACET_ASSIGN_OR_RETURN(const protocol::Announcement announcement, Await());
  const bool news = known_revision_ != announcement.revision;
  // What fails half way is a notification again: the server may have no other before the deadline.
  known_revision_.reset();
  if (news) TACET_RETURN_IF_ERROR(Act(announcement));
  TACET_RETURN_IF_ERROR(StateModel());
  known_revision_ = announcement.revision;
  if (announcement.stopped && has_entered() && finished_ == announcement.finished &&
      model_.next_round() == finished_) {
    return Progress::kDone;
  }
  return news ? Progress::kActed : Progress::kUnchanged;
}

absl::StatusOr<protocol::Announcement> MemberSession::Await() {
  absl::StatusOr<protocol::Announcement> announcement =
      parts_.server.Await({.known_revision = known_revision_.value_or(0),
                           .listed_from = listed_.size(),
                           .unmasking = needs_votes_});
  const bool is_of_other_time = announcement.status().code() == absl::StatusCode::kAborted;
  if (announcement.ok() || protocol::IsPermanent(announcement.status()) ||
      (protocol::IsRetryable(announcement.status()) && !is_of_other_time)) {
    return announcement;
  }
  const std::string why = base::Message(announcement.status());
  if (announcement.status().code() == absl::StatusCode::kDataLoss) {
    TACET_RETURN_IF_ERROR(notes_.Violation({violations::kUnreadable, why}, Here()));
  } else {
    TACET_RETURN_IF_ERROR(notes_.Note("not-admitted", Here(), why));
  }
  return base::Unavailable("the server does not announce the state of the federation: {}", why);
}

secagg::AttemptNumber MemberSession::Here() const {
  return memory_.has_value() ? memory_->attempt.number
                             : secagg::AttemptNumber{.epoch = parts_.manifest.epoch(),
                                                     .round = model_.next_round()};
}

absl::Status MemberSession::Act(const protocol::Announcement& announcement) {
  needs_votes_ = false;
  TACET_ASSIGN_OR_RETURN(const bool good, Check(announcement));
  if (!good) return absl::OkStatus();
  listed_.insert(listed_.end(), announcement.listed.begin(), announcement.listed.end());
  finished_ = announcement.finished;
  if (!HasBegun()) {
    TACET_RETURN_IF_ERROR(Enter(announcement));
    if (!entered_) return ChargeEnded(announcement);
  }
  if (announcement.current.has_value()) TACET_RETURN_IF_ERROR(Remember(*announcement.current));
  TACET_RETURN_IF_ERROR(CatchUp(announcement));
  if (announcement.current.has_value() &&
      announcement.current->attempt.number.round == model_.next_round()) {
    // Before this member trains: others may need the state to take part in the attempt.
    TACET_RETURN_IF_ERROR(StateModel());
    return ActOnCurrent(*announcement.current);
  }
  return ChargeEnded(announcement);
}

absl::StatusOr<bool> MemberSession::Check(const protocol::Announcement& announcement) {
  if (const auto wrong = CheckAnnouncement(announcement, parts_.manifest, listed_.size())) {
    TACET_RETURN_IF_ERROR(notes_.Violation(*wrong, Here()));
    return false;
  }
  if (const auto wrong =
          CheckContinues(announcement, memory_, model_.next_round(), parts_.manifest.training())) {
    TACET_RETURN_IF_ERROR(notes_.Violation(*wrong, Here()));
    const bool same_attempt = memory_.has_value() && announcement.current.has_value() &&
                              announcement.current->attempt.number == Here();
    if (same_attempt) TACET_RETURN_IF_ERROR(Distrust(Here()));
    return false;
  }
  return true;
}

// What is remembered.

absl::Status MemberSession::Keep(MemberMemory memory) {
  if (memory_ == memory) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(parts_.state.SaveMemory(WriteMemberMemory(memory)));
  memory_ = std::move(memory);
  return absl::OkStatus();
}

absl::Status MemberSession::Remember(const protocol::AnnouncedAttempt& current) {
  const bool known = memory_.has_value() && memory_->attempt == current.attempt;
  MemberMemory next;
  if (known) {
    next = *memory_;
  } else {
    next.attempt = current.attempt;
    if (memory_.has_value()) {
      next.distrusted = memory_->distrusted;
      next.participations = memory_->participations;
      if (memory_->attempt.number.epoch == current.attempt.number.epoch) {
        next.watched_attempts = memory_->watched_attempts;
        next.invitations = memory_->invitations;
      }
    }
    std::erase_if(next.distrusted, [this](const secagg::AttemptNumber& number) {
      return number.round < model_.next_round();
    });
  }
  next.phase = current.phase;
  next.participants = std::max(next.participants, current.participants);
  TACET_RETURN_IF_ERROR(Keep(std::move(next)));
  return known ? absl::OkStatus() : parts_.state.KeepOnly(current.attempt.number);
}

absl::Status MemberSession::Distrust(const secagg::AttemptNumber& number) {
  if (!memory_.has_value() || Distrusts(number)) return absl::OkStatus();
  MemberMemory next = *memory_;
  next.distrusted.push_back(number);
  return Keep(std::move(next));
}

bool MemberSession::Distrusts(const secagg::AttemptNumber& number) const {
  return memory_.has_value() &&
         std::ranges::find(memory_->distrusted, number) != memory_->distrusted.end();
}

// The opening of a later epoch.

bool MemberSession::HasBegun() const {
  return parts_.manifest.begins_training() ||
         (memory_.has_value() && memory_->attempt.number.epoch == parts_.manifest.epoch());
}

absl::Status MemberSession::Enter(const protocol::Announcement& announcement) {
  TACET_ASSIGN_OR_RETURN(const EpochEntry::Outcome outcome, entry_.Enter(announcement));
  entered_ = outcome.entered;
  needs_votes_ = outcome.waits;
  if (!announcement.current.has_value()) {  // the server may have lost what it was told
    attested_.reset();
    stated_.reset();
  }
  if (!outcome.first_undone.has_value()) return absl::OkStatus();
  const uint32_t first_undone = *outcome.first_undone;
  undone_.push_back(first_undone);
  std::erase_if(applied_,
                [&](const AppliedRound& applied) { return applied.round >= first_undone; });
  reached_ = parts_.clock();
  return absl::OkStatus();
}

// Published rounds.

absl::Status MemberSession::CatchUp(const protocol::Announcement& announcement) {
  while (model_.next_round() < announcement.finished) {
    TACET_ASSIGN_OR_RETURN(const KeptRound kept, ApplyKept(announcement));
    if (kept == KeptRound::kApplied) continue;
    needs_votes_ = true;
    if (kept == KeptRound::kForked) return absl::OkStatus();
    TACET_ASSIGN_OR_RETURN(std::optional<protocol::Checkpoint> state,
                           FetchAttestedState(parts_, notes_, announcement.finished));
    if (!state.has_value()) return absl::OkStatus();
    needs_votes_ = false;
    TACET_RETURN_IF_ERROR(model_.Install(*std::move(state)));
    reached_ = parts_.clock();
    TACET_RETURN_IF_ERROR(notes_.Applied(
        "checkpoint", {.epoch = announcement.epoch, .round = model_.next_round()},
        "the state with which the round begins, attested by a majority of its attestors"));
  }
  return absl::OkStatus();
}

absl::StatusOr<MemberSession::KeptRound> MemberSession::ApplyKept(
    const protocol::Announcement& announcement) {
  const auto kept =
      std::ranges::find(announcement.kept, model_.next_round(),
                        [](const secagg::Attempt& attempt) { return attempt.number.round; });
  if (kept == announcement.kept.end()) return KeptRound::kNotThere;
  const secagg::AttemptNumber number = kept->number;
  if (kept->model_digest != model_.digests().model) {
    TACET_RETURN_IF_ERROR(notes_.Violation(
        {violations::kFork, "a published round started from another model than this member's"},
        number));
    TACET_RETURN_IF_ERROR(Distrust(number));
    return KeptRound::kForked;
  }
  if (Distrusts(number)) return KeptRound::kNotThere;
  TACET_ASSIGN_OR_RETURN(const std::optional<secagg::Aggregate> sum,
                         FetchAggregate(parts_, notes_, *kept));
  if (!sum.has_value()) return KeptRound::kNotThere;
  const bool is_current =
      announcement.current.has_value() && announcement.current->attempt == *kept;
  if (is_current && announcement.current->participants != sum->participants) {
    TACET_RETURN_IF_ERROR(
        notes_.Violation({violations::kParticipants,
                          fmt::format("{} participants were announced, the sum is of {}",
                                      announcement.current->participants, sum->participants)},
                         number));
    TACET_RETURN_IF_ERROR(Distrust(number));
    return KeptRound::kNotThere;
  }
  TACET_RETURN_IF_ERROR(model_.Apply(*sum));
  applied_.push_back(
      {.round = number.round, .participants = sum->participants, .model = model_.digests().model});
  reached_ = parts_.clock();
  TACET_RETURN_IF_ERROR(
      notes_.Applied("sum", number, fmt::format("of {} participants", sum->participants)));
  return KeptRound::kApplied;
}

// The current attempt.

absl::Status MemberSession::ActOnCurrent(const protocol::AnnouncedAttempt& current) {
  const secagg::AttemptNumber number = current.attempt.number;
  if (!Distrusts(number) && current.attempt.model_digest != model_.digests().model) {
    TACET_RETURN_IF_ERROR(notes_.Violation(
        {violations::kFork, "the attempt starts from another model than this member's"}, number));
    TACET_RETURN_IF_ERROR(Distrust(number));
  }
  if (Distrusts(number)) return ChargeAnnounced();
  if (current.phase == protocol::AttemptPhase::kCollecting) {
    TACET_RETURN_IF_ERROR(Decide(current.invited));
    return Uploads() ? Participate(current.attempt) : ChargeAnnounced();
  }
  TACET_RETURN_IF_ERROR(ChargeAnnounced());
  switch (current.phase) {
    case protocol::AttemptPhase::kCollecting:
      break;
    case protocol::AttemptPhase::kUnmasking:
      return Unmask(current);
    case protocol::AttemptPhase::kPublished:
      return Unmask(current);  // this member could not apply it yet: votes or shares are missing
    case protocol::AttemptPhase::kFailed:
      if (unmasking_.HasConfirmed(current.attempt)) {
        return notes_.Violation(
            {violations::kAbortedRound,
             "this member decrypted and confirmed the aggregate, and the attempt "
             "is announced as failed"},
            number);
      }
      break;
  }
  return absl::OkStatus();
}

absl::Status MemberSession::Decide(protocol::Invited invited) {
  if (memory_->participation != Participation::kUndecided) return absl::OkStatus();
  MemberMemory next = *memory_;
  bool chosen = invited == protocol::Invited::kYes;
  if (agreement::ServerDrawsCohorts(spec())) {
    if (!std::exchange(next.watched, true)) ++next.watched_attempts;
    if (chosen) ++next.invitations;
    if (const auto bias = CheckDraw(next, spec()); chosen && bias.has_value()) {
      TACET_RETURN_IF_ERROR(notes_.Violation(*bias, next.attempt.number));
    }
  }
  if (invited == protocol::Invited::kNo) return Keep(std::move(next));
  if (invited == protocol::Invited::kOwnCoin) {
    crypto::Random coin = crypto::Random::FromEntropy(parts_.entropy);
    chosen = coin.Below(spec().sampling.clients) <
             spec().sampling.cohort;  // probability cohort / clients
  }
  next.participation = chosen ? Participation::kYes : Participation::kNo;
  if (chosen && spec().sampling.max_participations != 0) {
    if (next.participations == spec().sampling.max_participations) {
      next.participation = Participation::kSpent;
    } else {
      ++next.participations;
    }
  }
  return Keep(std::move(next));
}

bool MemberSession::Uploads() const {
  const Participation participation = memory_->participation;
  return participation == Participation::kYes || participation == Participation::kSpent ||
         spec().sampling.dummy_uploads;
}

bool MemberSession::GivesData() const { return memory_->participation == Participation::kYes; }

absl::Status MemberSession::Participate(const secagg::Attempt& attempt) {
  const secagg::AttemptNumber number = attempt.number;
  // A server that refuses or loses an upload after its last byte, again and again, gets it a few
  // times.
  if (refused_ != attempt) {
    refused_ = attempt;
    refusals_ = 0;
  }
  if (refusals_ >= kMaxRefusals) return absl::OkStatus();
  if (memory_->accepted) {
    TACET_ASSIGN_OR_RETURN(const bool lost, HasLostUpload(attempt));
    if (!lost) return absl::OkStatus();
    ++refusals_;
  }
  TACET_RETURN_IF_ERROR(notes_.Asked("upload", number));
  TACET_ASSIGN_OR_RETURN(const std::optional<base::Bytes> upload, SealedUpload(attempt));
  if (!upload.has_value()) return absl::OkStatus();
  const crypto::Digest digest = crypto::Sha256(*upload);
  const absl::Status sent =
      parts_.server.Put({.kind = protocol::BulkKind::kUpload, .attempt = attempt}, *upload, digest);
  if (sent.ok()) {
    MemberMemory next = *memory_;
    next.accepted = true;
    TACET_RETURN_IF_ERROR(Keep(std::move(next)));
    return notes_.Sent("upload", number, *upload, digest);
  }
  if (protocol::IsRetryable(sent)) return sent;
  ++refusals_;
  if (sent.code() == absl::StatusCode::kAlreadyExists) {
    return notes_.Violation({violations::kReplacedUpload,
                             "the server has accepted another upload in this member's name"},
                            number);
  }
  return notes_.Note("upload-not-taken", number, base::Message(sent));
}

// A server whose state was put back from a backup does not know what it has acknowledged.
absl::StatusOr<bool> MemberSession::HasLostUpload(const secagg::Attempt& attempt) const {
  const absl::StatusOr<base::Bytes> upload = parts_.state.LoadUpload(attempt);
  if (upload.status().code() == absl::StatusCode::kNotFound) return false;
  TACET_RETURN_IF_ERROR(upload.status());
  const absl::StatusOr<bool> has =
      parts_.server.Has({.kind = protocol::BulkKind::kUpload, .attempt = attempt}, *upload);
  if (!has.ok() && protocol::IsRetryable(has.status())) return has.status();
  return has.ok() && !*has;
}

absl::StatusOr<std::optional<base::Bytes>> MemberSession::SealedUpload(
    const secagg::Attempt& attempt) {
  absl::StatusOr<base::Bytes> stored = parts_.state.LoadUpload(attempt);
  if (stored.ok()) return *std::move(stored);
  if (stored.status().code() != absl::StatusCode::kNotFound) return stored.status();
  bool gives_data = GivesData();
  if (gives_data) {
    TACET_ASSIGN_OR_RETURN(gives_data, ChargeForSealing(attempt.number));
    if (!gives_data && !SendsZeros(attempt)) return std::nullopt;
  } else {
    TACET_RETURN_IF_ERROR(ChargeAnnounced());
  }
  TACET_ASSIGN_OR_RETURN(base::Bytes upload, Seal(attempt, gives_data));
  TACET_RETURN_IF_ERROR(parts_.state.SaveUpload(attempt, upload));
  return upload;
}

// Without an upload the others could wait for ever. Not where this member may have sealed its data
// before, and has lost its state.
bool MemberSession::SendsZeros(const secagg::Attempt& attempt) const {
  if (spec().sampling.dummy_uploads) return true;
  const ledger::ChargeLabel label{.manifest_hash = attempt.manifest_hash, .number = attempt.number};
  return agreement::EveryMemberUploads(spec()) && parts_.ledger.Knows(label) &&
         !parts_.ledger.HoldsForSealing(label);
}

absl::StatusOr<bool> MemberSession::ChargeForSealing(const secagg::AttemptNumber& number) {
  const bool charged_before =
      parts_.ledger.Holds({.manifest_hash = parts_.manifest.manifest().hash(), .number = number});
  const absl::Status charged = parts_.ledger.ChargeForSealing(Cost(), number, listed_);
  const bool refused = charged.code() == absl::StatusCode::kResourceExhausted ||
                       (charged_before && charged.code() == absl::StatusCode::kFailedPrecondition);
  if (!refused) {
    TACET_RETURN_IF_ERROR(charged);
    return true;
  }
  TACET_RETURN_IF_ERROR(notes_.Refused("upload", number, base::Message(charged)));
  return false;
}

absl::StatusOr<base::Bytes> MemberSession::Seal(const secagg::Attempt& attempt, bool gives_data) {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  crypto::SecretVector<float> update(manifest.spec().dimension);
  // Also where zeros will go: how long it takes must not tell whose data are in the sum.
  if (const absl::Status trained = parts_.updates.Update(attempt, model(), update.Expose());
      !trained.ok()) {
    if (trained.code() == absl::StatusCode::kCancelled) return trained;
    std::ranges::fill(update.Expose(), 0.0f);
    TACET_RETURN_IF_ERROR(
        notes_.Note("update-failed", attempt.number,
                    fmt::format("zeros are sealed instead: {}", base::Message(trained))));
  }
  if (!gives_data) std::ranges::fill(update.Expose(), 0.0f);
  TACET_ASSIGN_OR_RETURN(
      const std::unique_ptr<secagg::Sealer> sealer,
      secagg::Sealer::Create(
          manifest.terms(), attempt,
          secagg::DeriveAttemptKeys(parts_.epoch_key, manifest.spec().scheme, attempt)));
  if (pair_keys_.empty()) {
    TACET_ASSIGN_OR_RETURN(
        pair_keys_, agreement::PairKeysWithSeats(manifest, parts_.pair_secrets(), parts_.member));
  }
  TACET_ASSIGN_OR_RETURN(secagg::SealedUpload sealed,
                         sealer->Seal(update.Expose(), pair_keys_, parts_.entropy));
  if (!sealed.clip.finite) {
    TACET_RETURN_IF_ERROR(notes_.Note(
        "update-not-finite", attempt.number,
        "the update held a value that is not a number or infinite: zeros are sealed instead"));
  }
  return std::move(sealed.bytes);
}

absl::Status MemberSession::Unmask(const protocol::AnnouncedAttempt& current) {
  const secagg::Committee& committee = parts_.manifest.manifest().committee();
  if (!secagg::SeatOf(committee, parts_.member).has_value()) return absl::OkStatus();
  secagg::OwnUpload own;
  const absl::StatusOr<base::Bytes> upload = parts_.state.LoadUpload(current.attempt);
  if (!upload.ok() && upload.status().code() != absl::StatusCode::kNotFound) {
    return upload.status();
  }
  if (upload.ok()) {
    TACET_ASSIGN_OR_RETURN(
        const secagg::UploadView view,
        secagg::ReadUploadFields(*upload, current.attempt,
                                 parts_.manifest.manifest().terms().aggregation()));
    own = {.nonce = view.nonce, .acknowledged = memory_->accepted};
  }
  TACET_ASSIGN_OR_RETURN(const MemberUnmasking::Outcome outcome, unmasking_.Act(current, own));
  needs_votes_ = needs_votes_ || outcome == MemberUnmasking::Outcome::kWaiting;
  return outcome == MemberUnmasking::Outcome::kDropped ? Distrust(current.attempt.number)
                                                       : absl::OkStatus();
}

ledger::AttemptCost MemberSession::Cost() const {
  ledger::AttemptCost cost = cost_;
  // Under a training's first manifest announcements began with round 0.
  if (!parts_.manifest.begins_training() && !listed_.empty())
    cost.first_round = listed_.front().round;
  return cost;
}

absl::Status MemberSession::ChargeAnnounced() {
  return parts_.ledger.ChargeAnnounced(Cost(), listed_);
}

// The announcement of its end, or another process, charges an attempt that collects, unless this
// member seals its update meanwhile.
absl::Status MemberSession::ChargeEnded(const protocol::Announcement& announcement) {
  std::vector<secagg::AttemptNumber> ended = listed_;
  if (announcement.current.has_value() &&
      announcement.current->phase == protocol::AttemptPhase::kCollecting) {
    std::erase(ended, announcement.current->attempt.number);
  }
  return parts_.ledger.ChargeAnnounced(Cost(), ended);
}

// The next round's beginning.

absl::Status MemberSession::StateModel() {
  const uint32_t round = model_.next_round();
  if (!has_entered() || attested_ == round || finished_ != round) return absl::OkStatus();
  const std::vector<uint64_t> attestors = AttestorsOf(parts_.manifest);
  const bool is_attestor = std::ranges::find(attestors, parts_.member) != attestors.end();
  if (!is_attestor) {
    const bool has_begun = memory_.has_value() && memory_->attempt.number.round == round &&
                           memory_->attempt.number.epoch == parts_.manifest.epoch();
    if (has_begun) {
      attested_ = round;
      return absl::OkStatus();
    }
    const bool uploaded =
        memory_.has_value() && memory_->accepted && memory_->attempt.number.round + 1 == round;
    if (uploaded && stated_ != round) {
      TACET_RETURN_IF_ERROR(PutAttestation());
      stated_ = round;
    }
    if (parts_.clock() < reached_ + kAttestorSeconds) return absl::OkStatus();
  }
  if (stated_ != round) TACET_RETURN_IF_ERROR(PutAttestation());
  stated_ = round;
  if (round > 0) TACET_RETURN_IF_ERROR(PutCheckpoint());
  attested_ = round;
  return absl::OkStatus();
}

base::Bytes MemberSession::Attestation() const {
  return protocol::WriteAttestation({.member = parts_.member,
                                     .round = model_.next_round(),
                                     .model_digest = model_.digests().model,
                                     .state_digest = model_.digests().state},
                                    parts_.manifest, parts_.signing_key);
}

absl::StatusOr<std::vector<base::Bytes>> MemberSession::FetchAttestations() const {
  TACET_ASSIGN_OR_RETURN(std::vector<base::Bytes> all,
                         parts_.server.FetchAttestations(model_.next_round()));
  std::erase_if(all, [this](const base::Bytes& bytes) {
    const absl::StatusOr<protocol::Attestation> attestation =
        protocol::ReadAttestation(bytes, parts_.manifest);
    return !attestation.ok() || attestation->member == parts_.member ||
           attestation->round != model_.next_round();
  });
  return all;
}

absl::Status MemberSession::PutAttestation() {
  const secagg::AttemptNumber here{.epoch = parts_.manifest.epoch(), .round = model_.next_round()};
  const base::Bytes attestation = Attestation();
  const absl::Status sent = parts_.server.PutAttestation(attestation);
  if (sent.ok()) return notes_.Sent("attestation", here, attestation);
  if (protocol::IsRetryable(sent)) return sent;
  return notes_.Note("attestation-not-taken", here, base::Message(sent));
}

absl::Status MemberSession::PutCheckpoint() {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  const secagg::Attempt start = protocol::RoundStart(manifest, parts_.manifest.epoch(),
                                                     model_.next_round(), model_.digests().model);
  const protocol::BulkName name{.kind = protocol::BulkKind::kCheckpoint, .attempt = start};
  // The same bytes until they are taken: over a line that breaks they go on where they stopped.
  if (!encrypted_checkpoint_.has_value() || encrypted_checkpoint_->round != start.number.round) {
    encrypted_checkpoint_.reset();
    // The server takes as many as the committee has seats. If it lies it could as well drop this.
    const auto last_taken = static_cast<uint32_t>(manifest.committee().size() - 1);
    TACET_ASSIGN_OR_RETURN(
        const bool enough,
        parts_.server.Keeps(name, last_taken, protocol::EncryptedCheckpointBytes(manifest.spec())));
    if (enough) return absl::OkStatus();
    encrypted_checkpoint_ = {
        start.number.round,
        protocol::SealCheckpoint(model_.checkpoint(), model_.digests().model, manifest,
                                 parts_.manifest.epoch(), parts_.member, parts_.epoch_key,
                                 parts_.entropy)};
  }
  const crypto::Digest digest = crypto::Sha256(encrypted_checkpoint_->bytes);
  const absl::Status sent = parts_.server.Put(name, encrypted_checkpoint_->bytes, digest);
  if (protocol::IsRetryable(sent)) return sent;
  const base::Bytes sealed = std::move(encrypted_checkpoint_->bytes);
  encrypted_checkpoint_.reset();
  if (sent.ok()) return notes_.Sent("checkpoint", start.number, sealed, digest);
  if (sent.code() == absl::StatusCode::kAlreadyExists) return absl::OkStatus();  // before a restart
  return notes_.Note("checkpoint-not-taken", start.number, base::Message(sent));
}

}  // namespace tacet::member
