#include "tacet/server/round_server.h"

#include <algorithm>
#include <utility>

#include "tacet/agreement/cohort.h"
#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"
#include "tacet/secagg/committee.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

constexpr std::string_view kTooFewUploads = "too-few-uploads";
constexpr std::string_view kNotDecrypted = "not-decrypted";

// No cohort drawn by coins is large enough with certainty.
constexpr double kMaxWantedChance = 0.999;
constexpr uint64_t kLongestPause = 3600;  // seconds

std::vector<base::Bytes> BytesOf(const Submissions& submissions) {
  std::vector<base::Bytes> all;
  for (const Submission& submission : submissions) all.push_back(submission.bytes);
  return all;
}

}  // namespace

RoundServer::RoundServer(const agreement::SignedManifest& manifest,
                         const RoundServerOptions& options, ServerStore& store, BlobStore& blobs,
                         base::UnixClock clock, crypto::Entropy& cohorts)
    : manifest_(manifest),
      options_(options),
      store_(store),
      blobs_(blobs),
      clock_(std::move(clock)),
      cohorts_(cohorts),
      attendance_(manifest.members().size(), clock_()),
      opening_(manifest.manifest()) {
  // From anywhere, so that a server that was restarted has a notification for everybody.
  revision_ = phase_revision_ = base::LoadU64(cohorts_.Draw(8).Expose().data());
}

absl::StatusOr<std::unique_ptr<RoundServer>> RoundServer::Create(
    const agreement::SignedManifest& manifest, const RoundServerOptions& options,
    ServerStore& store, BlobStore& blobs, base::UnixClock clock, crypto::Entropy& cohorts) {
  if (options.collecting_seconds == 0 || options.unmasking_seconds == 0 ||
      options.abandon_seconds == 0 || options.kept_rounds == 0) {
    return base::InvalidArgument(
        "a server collects for {} s, waits {} s for the committee, abandons an attempt after {} s "
        "and keeps {} rounds: each must be at least 1",
        options.collecting_seconds, options.unmasking_seconds, options.abandon_seconds,
        options.kept_rounds);
  }
  TACET_RETURN_IF_ERROR(store.Claim(manifest.manifest().federation()));
  std::unique_ptr<RoundServer> server(
      new RoundServer(manifest, options, store, blobs, std::move(clock), cohorts));
  const base::MutexLock lock(server->mutex_);
  TACET_RETURN_IF_ERROR(server->Restore());
  return server;
}

// Holds the lock. When it ends it tells of a revision that changed meanwhile, without the lock.
class ABSL_SCOPED_LOCKABLE RoundServer::Change {
 public:
  explicit Change(RoundServer& server) ABSL_EXCLUSIVE_LOCK_FUNCTION(server.mutex_)
      : server_(server) {
    server_.mutex_.Lock();
    before_ = server_.revision_;
  }
  ~Change() ABSL_UNLOCK_FUNCTION() {
    const bool changed = server_.revision_ != before_;
    server_.mutex_.Unlock();
    if (changed) server_.Notify();
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  RoundServer& server_;
  uint64_t before_;
};

void RoundServer::Notify() {
  const base::MutexLock lock(news_mutex_);
  if (news_) news_();
}

void RoundServer::OnNotification(std::function<void()> news) {
  const base::MutexLock lock(news_mutex_);
  news_ = std::move(news);
}

void RoundServer::CountRevision(bool phase) {
  ++revision_;
  if (phase) phase_revision_ = revision_;
}

absl::Status RoundServer::CheckOnCommittee(uint64_t member) const {
  if (secagg::SeatOf(manifest_.manifest().committee(), member).has_value()) return absl::OkStatus();
  return base::PermissionDenied("only members of the committee vote, unmask and confirm");
}

size_t RoundServer::committee_size() const { return manifest_.manifest().committee().size(); }

size_t RoundServer::VoteQuorum() const {
  return manifest_.manifest().terms().aggregation().sharing().votes();
}

// At most K_min - 2 members are in a coalition, so one of K_min is not.
size_t RoundServer::FinalQuorum() const {
  const size_t majority = manifest_.members().size() / 2 + 1;
  const size_t uploads = manifest_.manifest().terms().min_participants();
  return std::min(majority, std::max(uploads, committee_size() / 2 + 1));
}

// One honest seat is among f + 1.
size_t RoundServer::ConfirmationQuorum() const { return spec().committee.corrupt + size_t{1}; }

// One of f + 1 refusals comes from an honest seat. Fewer end an attempt only when the votes that
// can still come are too few: a seat that has not voted takes its own vote back, nobody else's.
bool RoundServer::IsRefused() const {
  const Submissions& refusals = state_->SubmissionsOf(ItemKind::kRefusal);
  if (refusals.size() > spec().committee.corrupt) return true;
  size_t unvoted = 0;
  for (const Submission& refusal : refusals) {
    if (state_->Find(ItemKind::kVote, refusal.member) == nullptr) ++unvoted;
  }
  return committee_size() - unvoted < VoteQuorum();
}

// What an earlier process left.

absl::Status RoundServer::Restore() {
  aggregator_.reset();
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<AttemptState> state,
                         AttemptState::Load(manifest_, options_.kept_rounds, store_, blobs_));
  if (state->Open() != nullptr && state->Open()->phase == protocol::AttemptPhase::kCollecting) {
    TACET_ASSIGN_OR_RETURN(aggregator_, SumOf(*state));
  }
  state_ = std::move(state);
  RecallAttested();
  for (const Submission& vote : state_->opening_votes()) {
    const auto statement = protocol::ReadOpeningStatement(vote.bytes, manifest_);
    if (statement.ok()) opening_.Add(*statement);
  }
  if (!state_->attempts().empty()) {
    PauseAfterTooFew(std::min(state_->attempts().back().deadline, clock_()));
  }
  CountRevision(true);
  return absl::OkStatus();
}

void RoundServer::RecallAttested() {
  attested_.clear();
  for (const Submission& submission : state_->SubmissionsOf(ItemKind::kAttestation)) {
    const absl::StatusOr<protocol::Attestation> attestation =
        protocol::ReadAttestation(submission.bytes, manifest_);
    if (attestation.ok()) attested_[submission.member] = attestation->model_digest;
  }
}

// Adds what has been accepted.
absl::StatusOr<std::unique_ptr<secagg::Aggregator>> RoundServer::SumOf(AttemptState& state) const {
  const secagg::Attempt& attempt = state.Open()->attempt;
  const secagg::Terms& terms = manifest_.manifest().terms();
  auto sum =
      std::make_unique<secagg::Aggregator>(terms.aggregation(), attempt, terms.min_participants());
  const Submissions all_accepted = state.SubmissionsOf(ItemKind::kAccepted);
  for (const Submission& accepted : all_accepted) {
    TACET_ASSIGN_OR_RETURN(const crypto::Digest digest, DigestFrom(accepted.bytes));
    const BlobKey key = BlobKeyOf({protocol::BulkKind::kUpload, attempt}, accepted.member);
    const absl::StatusOr<base::Bytes> upload = blobs_.Read(key, digest);
    if (upload.status().code() == absl::StatusCode::kNotFound) {
      state.DropUpload(accepted.member);
      continue;
    }
    TACET_RETURN_IF_ERROR(upload.status());
    TACET_RETURN_IF_ERROR(sum->Submit(accepted.member, *upload));
  }
  return sum;
}

// What time brings.

absl::Status RoundServer::Tick() {
  const Change change(*this);
  return TickLocked();
}

absl::Status RoundServer::TickLocked() {
  if (!state_->CheckFresh().ok()) TACET_RETURN_IF_ERROR(Restore());
  if (state_->sweep_is_due()) TACET_RETURN_IF_ERROR(Sweep());
  if (const AttemptRecord* open = state_->Open(); open != nullptr) {
    TACET_RETURN_IF_ERROR(BoundDeadline());
    const bool late = clock_() >= open->deadline;
    if (open->phase == protocol::AttemptPhase::kUnmasking) {
      return late ? ExtendOrFail() : absl::OkStatus();
    }
    return late || IsComplete() ? CloseCollecting() : absl::OkStatus();
  }
  gathering_.reset();
  if (draining_ || !stopped_.empty()) return absl::OkStatus();
  if (!state_->is_opened()) TACET_RETURN_IF_ERROR(AdvanceOpening());
  if (!state_->is_opened()) {
    gathering_ = CountGathering();
    return absl::OkStatus();
  }
  const std::optional<secagg::Attempt> next = NextAttempt();
  if (!next.has_value()) {
    if (state_->finished() == 0) gathering_ = CountGathering();
    return absl::OkStatus();
  }
  if (stopped_ = WhyStop(*next); !stopped_.empty()) {
    CountRevision(true);
    return absl::OkStatus();
  }
  return MayBegin() ? BeginAttempt(*next) : absl::OkStatus();
}

void RoundServer::NotePresence(uint64_t member) {
  const base::MutexLock lock(mutex_);
  attendance_.Note(member, clock_());
}

// Failures that are expected in the rounds that are left use up half of the spare attempts at most.
double RoundServer::WantedChance() const {
  const std::vector<AttemptRecord>& begun = state_->attempts();
  const auto failed = static_cast<uint64_t>(
      std::ranges::count(begun, protocol::AttemptPhase::kFailed, &AttemptRecord::phase));
  const auto spare = static_cast<double>(spec().spare_attempts -
                                         std::min<uint64_t>(failed, spec().spare_attempts));
  const auto rounds = static_cast<double>(spec().rounds - state_->finished());
  return std::min(kMaxWantedChance, rounds / (rounds + spare / 2));
}

uint64_t RoundServer::LeastPresence() const {
  const uint64_t uploads = manifest_.manifest().terms().min_participants();
  if (agreement::EveryMemberUploads(spec())) return uploads;
  const accounting::SamplingParams& sampling = spec().sampling;
  const double wanted = WantedChance();
  uint64_t few = 0, enough = sampling.clients;
  while (enough - few > 1) {
    const uint64_t middle = few + (enough - few) / 2;
    const double chance = agreement::ChanceOfEnough(*sampling.method, sampling.clients,
                                                    sampling.cohort, middle, uploads);
    (chance >= wanted ? enough : few) = middle;
  }
  return enough;
}

Gathering RoundServer::CountGathering() const {
  const uint64_t now = clock_();
  Gathering gathering{.here = 0,
                      .needed = std::min(LeastPresence(), Expected()),
                      .seats_here = 0,
                      .seats_needed = VoteQuorum()};
  for (uint64_t member = 0; member < attendance_.members(); ++member) {
    gathering.here += attendance_.IsHere(member, now) && !IsLeftOut(member) ? 1 : 0;
  }
  for (const secagg::CommitteeSeat& seat : manifest_.manifest().committee()) {
    gathering.seats_here += attendance_.IsHere(seat.member, now) ? 1 : 0;
  }
  return gathering;
}

// Members that may upload in this round.
uint64_t RoundServer::Expected() const {
  return attendance_.members() - state_->SubmissionsOf(ItemKind::kLeftOut).size();
}

bool RoundServer::MayBegin() {
  const uint64_t now = clock_();
  gathering_ = CountGathering();
  if (!gathering_->enough()) {
    enough_since_.reset();
    return false;
  }
  // A clock that was set back begins the grace period again.
  if (!enough_since_.has_value() || *enough_since_ > now) enough_since_ = now;
  pause_ends_ = std::min(pause_ends_, now + pause_seconds_);  // of a clock that was ahead
  if (now < pause_ends_) return false;
  return gathering_->here == Expected() || now - *enough_since_ >= options_.grace_seconds;
}

bool RoundServer::IsComplete() const {
  const Submissions& accepted = state_->SubmissionsOf(ItemKind::kAccepted);
  const bool own_coins = state_->cohort().empty();
  if (accepted.size() == (own_coins ? Expected() : state_->cohort().size())) return true;
  // Without those that are left out too few were drawn: it fails before anybody seals.
  if (!own_coins && state_->cohort().size() < manifest_.manifest().terms().min_participants()) {
    return true;
  }
  // Who has not uploaded is not in the cohort, or on the way: nobody but the member knows.
  if (own_coins && !agreement::EveryMemberUploads(spec())) return false;
  const uint64_t begun = state_->Open()->begun;
  if (accepted.size() < manifest_.manifest().terms().min_participants() ||
      begun < attendance_.since() || clock_() < begun + options_.grace_seconds) {
    return false;
  }
  for (uint64_t member = 0; member < attendance_.members(); ++member) {
    const bool invited =
        own_coins ? !IsLeftOut(member) : std::ranges::binary_search(state_->cohort(), member);
    if (invited && attendance_.SeenSince(member, begun) &&
        state_->Find(ItemKind::kAccepted, member) == nullptr) {
      return false;
    }
  }
  return true;
}

// After the last attempts had too few uploads, one after the other.
void RoundServer::PauseAfterTooFew(uint64_t ended) {
  const std::vector<AttemptRecord>& begun = state_->attempts();
  uint64_t pause = options_.retry_seconds;
  auto record = begun.rbegin();
  if (record == begun.rend() || record->failure != kTooFewUploads) return;
  for (++record; record != begun.rend() && record->failure == kTooFewUploads; ++record) {
    pause = std::min(2 * pause, kLongestPause);
  }
  pause_seconds_ = std::min(pause, kLongestPause);
  pause_ends_ = ended + pause_seconds_;
}

absl::Status RoundServer::BoundDeadline() {
  const bool collecting = state_->Open()->phase == protocol::AttemptPhase::kCollecting;
  const uint64_t latest =
      clock_() + (collecting ? options_.collecting_seconds : options_.unmasking_seconds);
  if (state_->Open()->deadline <= latest) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(state_->SetDeadline(latest));
  CountRevision(true);
  return absl::OkStatus();
}

std::string RoundServer::WhyStop(const secagg::Attempt& next) const {
  if (next.number.round >= spec().rounds)
    return fmt::format("all {} rounds are done", spec().rounds);
  if (next.number.attempt > spec().spare_attempts) {
    return fmt::format("round {} failed in all its {} attempts", next.number.round,
                       next.number.attempt);
  }
  const size_t begun = state_->attempts().size();
  if (begun >= manifest_.manifest().attempt_budget()) {
    return fmt::format("all {} attempts that the agreement allows were begun", begun);
  }
  return "";
}

std::optional<secagg::Attempt> RoundServer::NextAttempt() const {
  secagg::Attempt next{.manifest_hash = manifest_.manifest().hash(), .number = state_->Beginning()};
  const std::vector<AttemptRecord>& begun = state_->attempts();
  if (!begun.empty() && begun.back().attempt.number.epoch == next.number.epoch &&
      begun.back().phase == protocol::AttemptPhase::kFailed) {
    next.number.attempt = begun.back().attempt.number.attempt + 1;
  }
  if (next.number.round >= spec().rounds) return next;  // nobody has to say what its model is
  const std::optional<crypto::Digest> stated = StatedModel();
  if (!stated.has_value()) return std::nullopt;
  next.model_digest = *stated;
  return next;
}

// The model that most members state, if they are enough. Every member has the initial one and
// cannot lose it, so the seats that round 0 needs anyway name it: two quorums of them share an
// honest seat.
std::optional<crypto::Digest> RoundServer::StatedModel() const {
  const bool is_initial = state_->finished() == 0;
  std::map<crypto::Digest, size_t> supporters;
  for (const auto& [member, model] : attested_) {
    if (!is_initial || CheckOnCommittee(member).ok()) ++supporters[model];
  }
  const auto most =
      std::ranges::max_element(supporters, {}, [](const auto& s) { return s.second; });
  if (most == supporters.end() || most->second < (is_initial ? VoteQuorum() : FinalQuorum())) {
    return std::nullopt;
  }
  return most->first;
}

// Half as many after every sum of this round that the committee refused: a smaller cohort leaves a
// bad participant out with a greater chance. It is drawn from all clients, independently of the
// cohorts before, as the accountants assume.
uint64_t RoundServer::CohortSize(const secagg::Attempt& attempt) const {
  const auto refused = std::ranges::count_if(state_->attempts(), [&](const AttemptRecord& record) {
    return record.attempt.number.epoch == attempt.number.epoch &&
           record.attempt.number.round == attempt.number.round && record.failure == kRefusedFailure;
  });
  const uint64_t halved = spec().sampling.cohort >> std::min<ptrdiff_t>(refused, 31);
  return std::max<uint64_t>(halved, manifest_.manifest().terms().min_participants());
}

absl::Status RoundServer::BeginAttempt(const secagg::Attempt& attempt) {
  std::vector<uint64_t> cohort;
  if (spec().sampling.method == accounting::Sampling::kFixedSize) {
    crypto::Random random = crypto::Random::FromEntropy(cohorts_);
    cohort = agreement::DrawCohort(*spec().sampling.method, spec().sampling.clients,
                                   CohortSize(attempt), random);
    // They are absent, as accountants count it: who is absent is settled before the draw, and the
    // attempt is charged whatever is drawn. Another draw in place of one that has too few others
    // would be a draw on condition that it succeeds, which no row covers.
    std::erase_if(cohort, [this](uint64_t member) { return IsLeftOut(member); });
  }
  const uint64_t now = clock_();
  const AttemptRecord record{.attempt = attempt,
                             .phase = protocol::AttemptPhase::kCollecting,
                             .begun = now,
                             .deadline = now + options_.collecting_seconds,
                             .failure = {}};
  TACET_RETURN_IF_ERROR(state_->Begin(record, std::move(cohort)));
  CountRevision(true);
  TACET_ASSIGN_OR_RETURN(aggregator_, SumOf(*state_));
  return absl::OkStatus();
}

absl::Status RoundServer::CloseCollecting() {
  const size_t accepted = state_->SubmissionsOf(ItemKind::kAccepted).size();
  if (accepted < manifest_.manifest().terms().min_participants()) {
    if (agreement::EveryMemberUploads(spec())) {
      TACET_RETURN_IF_ERROR(state_->SetDeadline(clock_() + options_.collecting_seconds));
      CountRevision(true);
      return absl::OkStatus();
    }
    TACET_RETURN_IF_ERROR(Finish(protocol::AttemptPhase::kFailed, kTooFewUploads));
    PauseAfterTooFew(clock_());
    return absl::OkStatus();
  }
  TACET_ASSIGN_OR_RETURN(const secagg::Aggregator::Closed closed, aggregator_->Close(cohorts_));
  absl::StatusOr<base::Bytes> shares = CollectShares(closed.roster);
  if (shares.status().code() == absl::StatusCode::kUnavailable) return shares.status();
  if (!shares.ok()) shares = base::Bytes();  // damaged meanwhile: the sum is what counts
  // If this fails, the sum is computed again from what was accepted.
  TACET_RETURN_IF_ERROR(
      state_->Close(closed, *shares, aggregator_->count(), clock_() + options_.unmasking_seconds));
  aggregator_.reset();
  CountRevision(true);
  return Sweep();  // single uploads are not kept any longer than the sum needs them
}

// Without a quorum there is no share, and with one a share of every vote. All shares of all seats
// decrypt, or are refused. Of fewer a seat may still wait for the others, or it was lost before it
// could confirm: then it is not here, or this server has not been here for long.
bool RoundServer::IsSettled() const {
  const uint64_t now = clock_();
  size_t heard = 0;
  bool all_here = now >= attendance_.since() + options_.unmasking_seconds;
  for (const secagg::CommitteeSeat& seat : manifest_.manifest().committee()) {
    const bool refused = state_->Find(ItemKind::kRefusal, seat.member) != nullptr;
    const bool voted = state_->Find(ItemKind::kVote, seat.member) != nullptr;
    if (refused || voted) ++heard;
    if (!refused && !attendance_.IsHere(seat.member, now)) all_here = false;
  }
  if (heard < committee_size()) return false;
  const size_t votes = state_->SubmissionsOf(ItemKind::kVote).size();
  const size_t shares = state_->SubmissionsOf(ItemKind::kUnmaskShare).size();
  if (shares == 0) return votes < VoteQuorum() || all_here;
  return shares >= votes && shares < committee_size() && all_here;
}

// A seat that is away costs time, but no new attempt and no new charge.
absl::Status RoundServer::ExtendOrFail() {
  if (IsRefused()) return FinishRefused();
  // Seats that could not decrypt, without those that are away.
  TACET_ASSIGN_OR_RETURN(const bool failed, FailForWrongShares());
  if (failed) return absl::OkStatus();
  const uint64_t now = clock_();
  const uint64_t begun = std::min(now, state_->Open()->begun);
  if (IsSettled() || now - begun >= options_.abandon_seconds) {
    return Finish(protocol::AttemptPhase::kFailed, kNotDecrypted);
  }
  TACET_RETURN_IF_ERROR(state_->SetDeadline(now + options_.unmasking_seconds));
  CountRevision(true);
  return absl::OkStatus();
}

absl::Status RoundServer::Finish(protocol::AttemptPhase phase, std::string_view failure) {
  TACET_RETURN_IF_ERROR(state_->Finish(phase, failure));
  aggregator_.reset();
  if (phase == protocol::AttemptPhase::kPublished) attested_.clear();  // another round comes next
  CountRevision(true);
  return Sweep();
}

absl::Status RoundServer::Sweep() {
  // Nobody but its own giver decides about an object that is on its way; uploads are too late now.
  std::vector<BlobKey> arriving;
  for (const auto& [member, key] : giving_) {
    if (key.name.kind != protocol::BulkKind::kUpload) arriving.push_back(key);
  }
  return state_->Sweep(arriving, StatedModel().has_value());
}

void RoundServer::Drain() {
  const base::MutexLock lock(mutex_);
  draining_ = true;
}

bool RoundServer::Idle() const {
  const base::MutexLock lock(mutex_);
  return state_->Open() == nullptr && (draining_ || !stopped_.empty());
}

// What members ask.

absl::StatusOr<protocol::Announcement> RoundServer::AnnouncementFor(uint64_t member,
                                                                    uint64_t listed_from,
                                                                    bool unmasking) const {
  const base::MutexLock lock(mutex_);
  TACET_RETURN_IF_ERROR(state_->CheckFresh());
  protocol::Announcement announcement{.manifest_hash = manifest_.manifest().hash(),
                                      .epoch = manifest_.epoch(),
                                      .revision = unmasking ? revision_ : phase_revision_,
                                      .listed = {},
                                      .current = std::nullopt,
                                      .finished = AnnouncedRounds(),
                                      .kept = {},
                                      .stopped = !stopped_.empty()};
  const std::vector<AttemptRecord>& begun = state_->attempts();
  const auto first = std::ranges::find(begun, manifest_.epoch(), [](const AttemptRecord& record) {
    return record.attempt.number.epoch;
  });
  const auto in_epoch = static_cast<uint64_t>(begun.end() - first);
  announcement.first_listed = std::min(listed_from, in_epoch);
  for (auto record = first + static_cast<ptrdiff_t>(announcement.first_listed);
       record != begun.end(); ++record) {
    announcement.listed.push_back(record->attempt.number);
  }
  for (const KeptRound& kept : state_->kept()) announcement.kept.push_back(kept.attempt);
  if (in_epoch == 0) return announcement;
  const AttemptRecord& last = begun.back();
  protocol::AnnouncedAttempt current{.attempt = last.attempt,
                                     .phase = last.phase,
                                     .invited = protocol::Invited::kNo,
                                     .deadline = last.deadline,
                                     .participants = last.participants};
  if (spec().sampling.method != accounting::Sampling::kFixedSize) {
    current.invited = protocol::Invited::kOwnCoin;
  } else if (std::ranges::binary_search(state_->cohort(), member)) {
    current.invited = protocol::Invited::kYes;
  }
  announcement.current = current;
  return announcement;
}

uint32_t RoundServer::AnnouncedRounds() const {
  if (state_->is_opened() || !candidate_.has_value()) return state_->finished();
  return candidate_->round;
}

bool RoundServer::IsNews(const protocol::AwaitRequest& request) const {
  const base::MutexLock lock(mutex_);
  return request.known_revision != (request.unmasking ? revision_ : phase_revision_);
}

absl::Status RoundServer::CheckOpen(const secagg::Attempt& attempt,
                                    protocol::AttemptPhase phase) const {
  TACET_RETURN_IF_ERROR(state_->CheckFresh());
  const AttemptRecord* const open = state_->Open();
  if (open == nullptr) {
    return base::FailedPrecondition("round {} attempt {}: no attempt is open", attempt.number.round,
                                    attempt.number.attempt);
  }
  TACET_RETURN_IF_ERROR(secagg::CheckAttempt(attempt, open->attempt, "request"));
  if (open->phase == phase) return absl::OkStatus();
  return base::FailedPrecondition(
      "round {} attempt {} is {}", attempt.number.round, attempt.number.attempt,
      phase == protocol::AttemptPhase::kUnmasking ? "still collecting" : "closed");
}

absl::Status RoundServer::CheckUnmaskable(const secagg::Attempt& attempt) const {
  if (state_->IsPublishedLast(attempt)) return absl::OkStatus();
  return CheckOpen(attempt, protocol::AttemptPhase::kUnmasking);
}

absl::StatusOr<uint64_t> RoundServer::AcceptWhole(uint64_t member,
                                                  const protocol::PutPartRequest& request) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes whole,
                         blobs_.Complete(BlobKeyOf(request.name, member), request.digest));
  const Change change(*this);
  TACET_RETURN_IF_ERROR(Accept(member, request, whole));
  return request.total;
}

const KeptRound* RoundServer::FindKept(const secagg::Attempt& attempt) const {
  const auto kept = std::ranges::find(state_->kept(), attempt, &KeptRound::attempt);
  return kept == state_->kept().end() ? nullptr : &*kept;
}

absl::Status RoundServer::TakeVote(uint64_t member, const secagg::Attempt& attempt,
                                   std::span<const uint8_t> vote) {
  TACET_RETURN_IF_ERROR(CheckOnCommittee(member));
  const Change change(*this);
  TACET_RETURN_IF_ERROR(state_->CheckFresh());
  TACET_RETURN_IF_ERROR(CheckUnmaskable(attempt));
  if (state_->IsPublishedLast(attempt)) {
    TACET_RETURN_IF_ERROR(state_->PutLate(ItemKind::kVote, member, vote));
    CountRevision(false);
    return absl::OkStatus();
  }
  const bool known = state_->Find(ItemKind::kVote, member) != nullptr;
  TACET_RETURN_IF_ERROR(state_->Put(ItemKind::kVote, member, vote));
  if (!known) CountRevision(false);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<base::Bytes>> RoundServer::Votes(const secagg::Attempt& attempt) const {
  const base::MutexLock lock(mutex_);
  if (const KeptRound* kept = FindKept(attempt); kept != nullptr) return BytesOf(kept->votes);
  TACET_RETURN_IF_ERROR(CheckOpen(attempt, protocol::AttemptPhase::kUnmasking));
  return BytesOf(state_->SubmissionsOf(ItemKind::kVote));
}

absl::Status RoundServer::TakeVerdict(uint64_t member, const secagg::Attempt& attempt,
                                      bool confirmed) {
  TACET_RETURN_IF_ERROR(CheckOnCommittee(member));
  const Change change(*this);
  TACET_RETURN_IF_ERROR(state_->CheckFresh());
  // Who did not hear that it was taken may say so again.
  if (confirmed && state_->IsPublishedLast(attempt)) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(CheckOpen(attempt, protocol::AttemptPhase::kUnmasking));
  const ItemKind kind = confirmed ? ItemKind::kConfirmation : ItemKind::kRefusal;
  TACET_RETURN_IF_ERROR(state_->Put(kind, member, {}));
  if (confirmed) {
    return state_->SubmissionsOf(kind).size() >= ConfirmationQuorum()
               ? Finish(protocol::AttemptPhase::kPublished, "")
               : absl::OkStatus();
  }
  if (!IsRefused()) return absl::OkStatus();
  // Otherwise rows of other seats are on their way; the deadline ends the wait for them.
  return AllChecked() ? FinishRefused() : absl::OkStatus();
}

absl::Status RoundServer::TakeAttestation(uint64_t member, std::span<const uint8_t> bytes) {
  TACET_ASSIGN_OR_RETURN(const protocol::Attestation attestation,
                         protocol::ReadAttestation(bytes, manifest_));
  if (attestation.member != member) {
    return base::PermissionDenied("an attestation of member {} was sent by member {}",
                                  attestation.member, member);
  }
  const Change change(*this);
  TACET_RETURN_IF_ERROR(state_->CheckFresh());
  if (!state_->is_opened()) {
    return base::FailedPrecondition("attestation for round {}: epoch {} is not opened",
                                    attestation.round, manifest_.epoch());
  }
  if (attestation.round != state_->finished()) {
    return base::FailedPrecondition("attestation for round {}: the next round is {}",
                                    attestation.round, state_->finished());
  }
  const bool was_final = StatedModel().has_value();
  const bool is_new = state_->Find(ItemKind::kAttestation, member) == nullptr;
  TACET_RETURN_IF_ERROR(state_->Put(ItemKind::kAttestation, member, bytes));
  attested_.try_emplace(member, attestation.model_digest);
  // Members without the state wait for attestations of the committee.
  if (is_new && CheckOnCommittee(member).ok()) CountRevision(false);
  // The roster goes. While an attempt collects, its uploads are not to be swept.
  const bool is_final = !was_final && StatedModel().has_value();
  return is_final && state_->Open() == nullptr ? Sweep() : absl::OkStatus();
}

absl::Status RoundServer::TakeOpeningStatement(uint64_t member, std::span<const uint8_t> bytes) {
  TACET_RETURN_IF_ERROR(CheckOnCommittee(member));
  TACET_ASSIGN_OR_RETURN(const protocol::OpeningStatement statement,
                         protocol::ReadOpeningStatement(bytes, manifest_));
  if (manifest_.begins_training()) {
    return base::FailedPrecondition("epoch {} begins a training: it needs no opening",
                                    manifest_.epoch());
  }
  const Change change(*this);
  TACET_RETURN_IF_ERROR(state_->CheckFresh());
  return NoteOpeningStatement(statement, bytes);
}

absl::StatusOr<std::vector<base::Bytes>> RoundServer::Attestations(uint32_t round) const {
  const base::MutexLock lock(mutex_);
  if (state_->is_opened() && round == state_->finished()) {
    // Others attest when they took part: to hand theirs out would name participants.
    std::vector<base::Bytes> attestations;
    for (const Submission& attestation : state_->SubmissionsOf(ItemKind::kAttestation)) {
      if (CheckOnCommittee(attestation.member).ok()) attestations.push_back(attestation.bytes);
    }
    return attestations;
  }
  return base::NotFound("round {}: its attestations are not kept, the next round is {}", round,
                        state_->finished());
}

}  // namespace tacet::server
