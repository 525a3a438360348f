#include "tacet/federation/round_server.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/federation/cohort.h"
#include "tacet/federation/model_statement.h"
#include "tacet/federation/sealed_checkpoint.h"
#include "tacet/federation/server_store_rules.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/opened_sum.h"
#include "tacet/secagg/upload.h"

namespace tacet::federation {
namespace {

constexpr std::string_view kTooFewUploads = "too-few-uploads";
constexpr std::string_view kRefused = "refused";
constexpr std::string_view kNotOpened = "not-opened";
constexpr std::string_view kEpochEnded = "epoch-ended";

// Sums that one attempt is given at most: more than there are openers, since the server cannot tell
// theirs from what another member sends.
constexpr size_t kMostOpenedSums = 16;

constexpr std::array kForgottenOfPublished = {ItemKind::kAccepted, ItemKind::kClosedRound,
                                              ItemKind::kVote, ItemKind::kRefusal};
constexpr std::array kForgottenOfFailed = {ItemKind::kAccepted, ItemKind::kClosedRound,
                                           ItemKind::kVote, ItemKind::kRefusal,
                                           ItemKind::kOpenedSum};

ItemKind ItemKindOf(BulkKind kind) {
  switch (kind) {
    case BulkKind::kUpload:
      return ItemKind::kAccepted;
    case BulkKind::kClosedRound:
      return ItemKind::kClosedRound;
    case BulkKind::kOpenedSum:
      return ItemKind::kOpenedSum;
    case BulkKind::kCheckpoint:
      return ItemKind::kCheckpoint;
  }
  return ItemKind::kAccepted;
}

// A checkpoint is found by its round: which model it is of is for its readers to see.
SpoolKey KeyOf(const BulkName& name, uint64_t member) {
  SpoolKey key{.name = name, .member = member};
  if (name.kind == BulkKind::kCheckpoint) key.name.attempt.model_digest = {};
  return key;
}

absl::Status CheckLength(const PutPartRequest& request, uint64_t agreed) {
  if (request.total == agreed) return absl::OkStatus();
  return base::FailedPrecondition("{} of {} bytes, the agreement says {}",
                                  BulkKindName(request.name.kind), request.total, agreed);
}

absl::StatusOr<base::Digest> DigestOf(std::span<const uint8_t> bytes) {
  base::Digest digest;
  if (bytes.size() != digest.size()) {
    return base::DataLoss("server store: a digest has {} bytes", bytes.size());
  }
  std::ranges::copy(bytes, digest.begin());
  return digest;
}

}  // namespace

RoundServer::RoundServer(const SignedManifest& manifest, const RoundServerOptions& options,
                         ServerStore& store, Spool& spool, UnixClock clock, base::Entropy& cohorts)
    : manifest_(manifest),
      options_(options),
      store_(store),
      spool_(spool),
      clock_(std::move(clock)),
      cohorts_(cohorts) {
  // From anywhere, so that a server that was started anew has news for everybody.
  revision_ = phase_revision_ = base::LoadU64(cohorts_.Draw(8).Expose().data());
}

absl::StatusOr<std::unique_ptr<RoundServer>> RoundServer::Create(const SignedManifest& manifest,
                                                                 const RoundServerOptions& options,
                                                                 ServerStore& store, Spool& spool,
                                                                 UnixClock clock,
                                                                 base::Entropy& cohorts) {
  if (options.collecting_seconds == 0 || options.opening_seconds == 0 || options.kept_rounds == 0) {
    return base::InvalidArgument(
        "a server collects for {} s, opens for {} s and keeps {} rounds: each must be at least 1",
        options.collecting_seconds, options.opening_seconds, options.kept_rounds);
  }
  TACET_RETURN_IF_ERROR(store.Claim(manifest.manifest().agreement()));
  std::unique_ptr<RoundServer> server(
      new RoundServer(manifest, options, store, spool, std::move(clock), cohorts));
  const std::lock_guard lock(server->mutex_);
  TACET_RETURN_IF_ERROR(server->Restore());
  return server;
}

template <typename Act>
auto RoundServer::Locked(Act act) {
  bool news = false;
  auto result = [&] {
    const std::lock_guard lock(mutex_);
    const uint64_t before = revision_;
    auto done = act();
    news = revision_ != before;
    return done;
  }();
  if (news && news_) news_();
  return result;
}

void RoundServer::OnNews(std::function<void()> news) { news_ = std::move(news); }

void RoundServer::CountRevision(bool phase) {
  ++revision_;
  if (phase) phase_revision_ = revision_;
}

uint32_t RoundServer::openers() const {
  return static_cast<uint32_t>(std::min<uint64_t>(spec().openers, spec().clients));
}

const AttemptRecord* RoundServer::Open() const {
  return attempts_.empty() || HasEnded(attempts_.back().phase) ? nullptr : &attempts_.back();
}

uint32_t RoundServer::finished() const {
  if (attempts_.empty()) return 0;
  const AttemptRecord& last = attempts_.back();
  return last.attempt.round + (last.phase == AttemptPhase::kPublished ? 1 : 0);
}

AttemptNumber RoundServer::Beginning() const {
  return {.epoch = manifest_.epoch(), .round = finished(), .attempt = 0};
}

const RoundServer::Gift* RoundServer::Find(ItemKind kind, uint64_t member) const {
  const auto gifts = gifts_.find(kind);
  if (gifts == gifts_.end()) return nullptr;
  const auto found = std::ranges::find(gifts->second, member, &Gift::member);
  return found == gifts->second.end() ? nullptr : &*found;
}

// What an earlier process left.

absl::Status RoundServer::Restore() {
  stale_ = true;
  cohort_.clear();
  aggregator_.reset();
  gifts_.clear();
  kept_.clear();
  TACET_ASSIGN_OR_RETURN(attempts_, store_.Attempts());
  if (!attempts_.empty()) TACET_RETURN_IF_ERROR(RestoreLast());
  const uint32_t oldest = finished() - std::min(finished(), options_.kept_rounds);
  for (const AttemptRecord& record : attempts_) {
    if (record.phase != AttemptPhase::kPublished || record.attempt.round < oldest ||
        record.attempt.epoch != manifest_.epoch()) {
      continue;
    }
    Kept kept{.attempt = record.attempt, .sums = {}};
    TACET_ASSIGN_OR_RETURN(std::vector<Item> items, store_.Items(NumberOf(record.attempt)));
    for (Item& item : items) {
      if (item.kind == ItemKind::kOpenedSum) {
        kept.sums.push_back({item.member, std::move(item.bytes)});
      }
    }
    kept_.push_back(std::move(kept));
  }
  TACET_ASSIGN_OR_RETURN(std::vector<Item> items, store_.Items(Beginning()));
  for (Item& item : items) {
    if (item.kind == ItemKind::kStatement || item.kind == ItemKind::kCheckpoint) {
      GiftsOf(item.kind).push_back({item.member, std::move(item.bytes)});
    }
  }
  // Parts of uploads that were on their way stay.
  sweep_is_due_ = Open() == nullptr || Open()->phase != AttemptPhase::kCollecting;
  CountRevision(true);
  stale_ = false;
  return absl::OkStatus();
}

absl::Status RoundServer::RestoreLast() {
  const AttemptRecord& last = attempts_.back();
  if (last.attempt.epoch > manifest_.epoch()) {
    return base::FailedPrecondition(
        "the server's store has gone on to epoch {}, its manifest is of epoch {}",
        last.attempt.epoch, manifest_.epoch());
  }
  if (Open() == nullptr) return absl::OkStatus();
  if (last.attempt.epoch < manifest_.epoch()) return Finish(AttemptPhase::kFailed, kEpochEnded);
  if (last.attempt.manifest_hash != manifest_.manifest().hash()) {
    return base::FailedPrecondition(
        "the server's store has an open attempt of epoch {} under another manifest",
        manifest_.epoch());
  }
  TACET_ASSIGN_OR_RETURN(cohort_, store_.Cohort());
  TACET_ASSIGN_OR_RETURN(std::vector<Item> items, store_.Items(NumberOf(last.attempt)));
  for (Item& item : items) {
    if (item.kind == ItemKind::kStatement || item.kind == ItemKind::kCheckpoint) continue;
    GiftsOf(item.kind).push_back({item.member, std::move(item.bytes)});
  }
  return last.phase == AttemptPhase::kCollecting ? RestoreSum() : absl::OkStatus();
}

// Adds what has been accepted.
absl::Status RoundServer::RestoreSum() {
  const secagg::Attempt& attempt = Open()->attempt;
  const secagg::Terms& terms = manifest_.manifest().terms();
  aggregator_ =
      std::make_unique<secagg::Aggregator>(terms.aggregation(), attempt, terms.min_participants());
  for (const Gift& accepted : GiftsOf(ItemKind::kAccepted)) {
    TACET_ASSIGN_OR_RETURN(const base::Digest digest, DigestOf(accepted.bytes));
    const SpoolKey key{.name = {.kind = BulkKind::kUpload, .attempt = attempt},
                       .member = accepted.member};
    TACET_ASSIGN_OR_RETURN(const base::Bytes upload, spool_.Read(key, digest));
    TACET_RETURN_IF_ERROR(aggregator_->Submit(accepted.member, upload));
  }
  return absl::OkStatus();
}

// What time brings.

absl::Status RoundServer::Tick() {
  return Locked([this] { return TickLocked(); });
}

// What the store says of a change. After a failure nobody knows whether it happened, until the
// store is read anew.
absl::Status RoundServer::Noted(absl::Status status) {
  if (!status.ok() && status.code() != absl::StatusCode::kAlreadyExists) stale_ = true;
  return status;
}

absl::Status RoundServer::CheckFresh() const {
  if (!stale_) return absl::OkStatus();
  return base::Unavailable("the server's store has failed: try again later");
}

absl::Status RoundServer::TickLocked() {
  if (stale_) TACET_RETURN_IF_ERROR(Restore());
  if (sweep_is_due_) TACET_RETURN_IF_ERROR(Sweep());
  if (const AttemptRecord* open = Open(); open != nullptr) {
    const bool late = clock_() >= open->deadline;
    if (open->phase == AttemptPhase::kOpening) {
      return late ? Finish(AttemptPhase::kFailed, kNotOpened) : absl::OkStatus();
    }
    const size_t expected = cohort_.empty() ? spec().clients : cohort_.size();
    const bool complete = GiftsOf(ItemKind::kAccepted).size() == expected;
    return complete || late ? CloseCollecting() : absl::OkStatus();
  }
  if (draining_ || !stopped_.empty()) return absl::OkStatus();
  const std::optional<secagg::Attempt> next = NextAttempt();
  if (!next.has_value()) return absl::OkStatus();
  if (stopped_ = WhyStop(*next); stopped_.empty()) return BeginAttempt(*next);
  CountRevision(true);
  return absl::OkStatus();
}

std::string RoundServer::WhyStop(const secagg::Attempt& next) const {
  if (next.round >= spec().rounds) return fmt::format("all {} rounds are done", spec().rounds);
  if (next.attempt >= spec().attempts_per_round) {
    return fmt::format("round {} failed in all its {} attempts", next.round, next.attempt);
  }
  if (attempts_.size() >= manifest_.manifest().attempt_budget()) {
    return fmt::format("all {} attempts that the agreement allows were begun", attempts_.size());
  }
  return "";
}

std::optional<secagg::Attempt> RoundServer::NextAttempt() const {
  secagg::Attempt next{.manifest_hash = manifest_.manifest().hash(),
                       .epoch = manifest_.epoch(),
                       .round = finished()};
  if (!attempts_.empty() && attempts_.back().attempt.epoch == next.epoch &&
      attempts_.back().phase == AttemptPhase::kFailed) {
    next.attempt = attempts_.back().attempt.attempt + 1;
  }
  if (next.round == 0) {
    next.model_digest = spec().initial_model;
    return next;
  }
  if (next.round >= spec().rounds) return next;  // nobody has to say what its model is
  const std::optional<base::Digest> stated = StatedModel();
  if (!stated.has_value()) return std::nullopt;
  next.model_digest = *stated;
  return next;
}

// The model that most members state, if they are enough.
std::optional<base::Digest> RoundServer::StatedModel() const {
  const auto statements = gifts_.find(ItemKind::kStatement);
  if (statements == gifts_.end()) return std::nullopt;
  std::map<base::Digest, size_t> supporters;
  for (const Gift& gift : statements->second) {
    const absl::StatusOr<ModelStatement> statement = ReadModelStatement(gift.bytes, manifest_);
    if (statement.ok()) ++supporters[statement->model_digest];
  }
  const auto most =
      std::ranges::max_element(supporters, {}, [](const auto& s) { return s.second; });
  if (most == supporters.end() || most->second < secagg::Majority(openers())) return std::nullopt;
  return most->first;
}

absl::Status RoundServer::BeginAttempt(const secagg::Attempt& attempt) {
  std::vector<uint64_t> cohort;
  if (spec().sampling == accounting::Sampling::kFixedSize) {
    base::Random random = base::Random::FromEntropy(cohorts_);
    cohort = DrawCohort(spec().sampling, spec().clients, spec().cohort, random);
  }
  const uint64_t now = clock_();
  const AttemptRecord record{.attempt = attempt,
                             .phase = AttemptPhase::kCollecting,
                             .begun = now,
                             .deadline = now + options_.collecting_seconds,
                             .failure = {}};
  TACET_RETURN_IF_ERROR(Noted(store_.Begin(record, cohort)));
  attempts_.push_back(record);
  cohort_ = std::move(cohort);
  for (const ItemKind kind : kForgottenOfFailed) gifts_.erase(kind);
  CountRevision(true);
  return RestoreSum();
}

absl::StatusOr<base::Digest> RoundServer::StoreClosedRound() {
  // Whatever fails from here on, the sum is made anew from what was accepted.
  stale_ = true;
  TACET_ASSIGN_OR_RETURN(const base::Bytes closed, aggregator_->Close());
  const SpoolKey key{.name = {.kind = BulkKind::kClosedRound, .attempt = Open()->attempt}};
  const base::Digest digest = base::Sha256(closed);
  TACET_ASSIGN_OR_RETURN(const uint64_t arrived, spool_.Arrived(key, digest));
  TACET_RETURN_IF_ERROR(
      spool_.Append(key, digest, arrived, std::span<const uint8_t>(closed).subspan(arrived)));
  TACET_RETURN_IF_ERROR(spool_.Complete(key, digest).status());
  stale_ = false;
  return digest;
}

absl::Status RoundServer::CloseCollecting() {
  AttemptRecord record = *Open();
  const auto accepted = static_cast<uint32_t>(GiftsOf(ItemKind::kAccepted).size());
  if (accepted < manifest_.manifest().terms().min_participants()) {
    return Finish(AttemptPhase::kFailed, kTooFewUploads);
  }
  TACET_ASSIGN_OR_RETURN(const base::Digest digest, StoreClosedRound());
  record.phase = AttemptPhase::kOpening;
  record.participants = aggregator_->count();
  record.deadline = clock_() + options_.opening_seconds;
  const Item item{.kind = ItemKind::kClosedRound,
                  .member = 0,
                  .bytes = base::Bytes(digest.begin(), digest.end())};
  TACET_RETURN_IF_ERROR(Noted(store_.Update(record, {&item, 1})));
  attempts_.back() = record;
  GiftsOf(ItemKind::kClosedRound) = {{0, item.bytes}};
  aggregator_.reset();
  CountRevision(true);
  return Sweep();  // single uploads are not kept any longer than the sum needs them
}

absl::Status RoundServer::Finish(AttemptPhase phase, std::string_view failure) {
  AttemptRecord record = *Open();
  record.phase = phase;
  record.failure = failure;
  const bool published = phase == AttemptPhase::kPublished;
  TACET_RETURN_IF_ERROR(Noted(published ? store_.Finish(record, kForgottenOfPublished)
                                        : store_.Finish(record, kForgottenOfFailed)));
  attempts_.back() = record;
  cohort_.clear();
  aggregator_.reset();
  if (published) {
    kept_.push_back({.attempt = record.attempt, .sums = GiftsOf(ItemKind::kOpenedSum)});
    if (kept_.size() > options_.kept_rounds) kept_.erase(kept_.begin());
    gifts_.clear();
  } else {
    for (const ItemKind kind : kForgottenOfFailed) gifts_.erase(kind);
  }
  CountRevision(true);
  return Sweep();
}

// Removes what nothing refers to any more.
absl::Status RoundServer::Sweep() {
  sweep_is_due_ = true;
  if (finished() > options_.kept_rounds) {
    TACET_RETURN_IF_ERROR(store_.ForgetBefore(finished() - options_.kept_rounds));
  }
  std::vector<SpoolKey> keys;
  const auto keep = [&](BulkKind kind, const secagg::Attempt& attempt, const Gifts& gifts) {
    for (const Gift& gift : gifts) keys.push_back(KeyOf({kind, attempt}, gift.member));
  };
  for (const Kept& kept : kept_) keep(BulkKind::kOpenedSum, kept.attempt, kept.sums);
  if (const AttemptRecord* open = Open(); open != nullptr) {
    keep(BulkKind::kClosedRound, open->attempt, GiftsOf(ItemKind::kClosedRound));
    keep(BulkKind::kOpenedSum, open->attempt, GiftsOf(ItemKind::kOpenedSum));
  }
  const AttemptNumber beginning = Beginning();
  keep(BulkKind::kCheckpoint,
       {.manifest_hash = manifest_.manifest().hash(),
        .epoch = beginning.epoch,
        .round = beginning.round},
       GiftsOf(ItemKind::kCheckpoint));
  // Nobody but its own giver decides about an object that is on its way; uploads are too late now.
  for (const auto& [member, key] : giving_) {
    if (key.name.kind != BulkKind::kUpload) keys.push_back(key);
  }
  TACET_RETURN_IF_ERROR(spool_.KeepOnly(keys));
  sweep_is_due_ = false;
  return absl::OkStatus();
}

void RoundServer::Drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

bool RoundServer::Idle() const {
  const std::lock_guard lock(mutex_);
  return Open() == nullptr && (draining_ || !stopped_.empty());
}

// What members ask.

absl::StatusOr<Announcement> RoundServer::AnnouncementFor(uint64_t member, uint64_t listed_from,
                                                          bool opening) const {
  const std::lock_guard lock(mutex_);
  TACET_RETURN_IF_ERROR(CheckFresh());
  Announcement announcement{.manifest_hash = manifest_.manifest().hash(),
                            .epoch = manifest_.epoch(),
                            .revision = opening ? revision_ : phase_revision_,
                            .listed = {},
                            .current = std::nullopt,
                            .finished = finished(),
                            .kept = {},
                            .stopped = !stopped_.empty()};
  const auto first =
      std::ranges::find(attempts_, manifest_.epoch(),
                        [](const AttemptRecord& record) { return record.attempt.epoch; });
  const auto in_epoch = static_cast<uint64_t>(attempts_.end() - first);
  announcement.first_listed = std::min(listed_from, in_epoch);
  for (auto record = first + static_cast<ptrdiff_t>(announcement.first_listed);
       record != attempts_.end(); ++record) {
    announcement.listed.push_back(NumberOf(record->attempt));
  }
  for (const Kept& kept : kept_) announcement.kept.push_back(kept.attempt);
  if (in_epoch == 0) return announcement;
  const AttemptRecord& last = attempts_.back();
  AnnouncedAttempt current{.attempt = last.attempt,
                           .phase = last.phase,
                           .invited = Invited::kNo,
                           .deadline = last.deadline,
                           .participants = last.participants};
  if (spec().sampling != accounting::Sampling::kFixedSize) {
    current.invited = Invited::kOwnCoin;
  } else if (std::ranges::binary_search(cohort_, member)) {
    current.invited = Invited::kYes;
  }
  announcement.current = current;
  return announcement;
}

bool RoundServer::IsNews(const AwaitRequest& request) const {
  const std::lock_guard lock(mutex_);
  return request.known_revision != (request.opening ? revision_ : phase_revision_);
}

absl::Status RoundServer::CheckOpen(const secagg::Attempt& attempt, AttemptPhase phase) const {
  TACET_RETURN_IF_ERROR(CheckFresh());
  const AttemptRecord* const open = Open();
  if (open == nullptr) {
    return base::FailedPrecondition("round {} attempt {}: no attempt is open", attempt.round,
                                    attempt.attempt);
  }
  TACET_RETURN_IF_ERROR(secagg::CheckAttempt(attempt, open->attempt, "request"));
  if (open->phase == phase) return absl::OkStatus();
  return base::FailedPrecondition("round {} attempt {} is {}", attempt.round, attempt.attempt,
                                  phase == AttemptPhase::kOpening ? "still collecting" : "closed");
}

absl::Status RoundServer::Put(const AttemptNumber& at, ItemKind kind, uint64_t member,
                              std::span<const uint8_t> bytes) {
  Item item{.kind = kind, .member = member, .bytes = base::Bytes(bytes.begin(), bytes.end())};
  TACET_RETURN_IF_ERROR(Noted(store_.PutItem(at, item)));
  if (Find(kind, member) == nullptr) {
    GiftsOf(kind).push_back({member, std::move(item.bytes)});
    if (kind == ItemKind::kVote) CountRevision(false);
  }
  return absl::OkStatus();
}

absl::Status RoundServer::CheckUpload(uint64_t member, const PutPartRequest& request) const {
  TACET_RETURN_IF_ERROR(CheckOpen(request.name.attempt, AttemptPhase::kCollecting));
  if (!cohort_.empty() && !std::ranges::binary_search(cohort_, member)) {
    return base::PermissionDenied("round {} attempt {}: not one of its participants",
                                  request.name.attempt.round, request.name.attempt.attempt);
  }
  return CheckLength(request, secagg::UploadBytes(manifest_.manifest().terms().aggregation()));
}

bool RoundServer::IsLate(const secagg::Attempt& attempt) const {
  return Open() == nullptr && !kept_.empty() && kept_.back().attempt == attempt &&
         attempts_.back().attempt == attempt;
}

// While the attempt is opening; of a published one also later than the others.
absl::Status RoundServer::CheckOpenedSum(const PutPartRequest& request) const {
  if (!IsLate(request.name.attempt))
    TACET_RETURN_IF_ERROR(CheckOpen(request.name.attempt, AttemptPhase::kOpening));
  return CheckLength(request, secagg::OpenedSumBytes(manifest_.manifest().terms().aggregation()));
}

absl::Status RoundServer::CheckCheckpoint(const PutPartRequest& request) const {
  const AttemptNumber beginning = Beginning();
  if (request.name.attempt.manifest_hash != manifest_.manifest().hash() ||
      NumberOf(request.name.attempt) != beginning) {
    return base::FailedPrecondition(
        "checkpoint for round {} of epoch {}: round {} of epoch {} comes next",
        request.name.attempt.round, request.name.attempt.epoch, beginning.round, beginning.epoch);
  }
  return CheckLength(request, SealedCheckpointBytes(spec().dimension));
}

absl::StatusOr<std::optional<uint64_t>> RoundServer::CheckOffer(
    uint64_t member, const PutPartRequest& request) const {
  TACET_RETURN_IF_ERROR(CheckFresh());
  const BulkName& name = request.name;
  // Who did not hear that its upload was accepted may ask also after the attempt was closed.
  const Gift* const upload = Find(ItemKind::kAccepted, member);
  if (name.kind == BulkKind::kUpload && upload != nullptr && Open() != nullptr &&
      Open()->attempt == name.attempt && std::ranges::equal(upload->bytes, request.digest)) {
    return request.total;
  }
  size_t most = 0;
  switch (name.kind) {
    case BulkKind::kUpload:
      TACET_RETURN_IF_ERROR(CheckUpload(member, request));
      most = spec().clients;
      break;
    case BulkKind::kOpenedSum:
      TACET_RETURN_IF_ERROR(CheckOpenedSum(request));
      most = kMostOpenedSums;
      break;
    case BulkKind::kCheckpoint:
      TACET_RETURN_IF_ERROR(CheckCheckpoint(request));
      most = openers();
      break;
    case BulkKind::kClosedRound:
      return base::PermissionDenied("a closed round is the server's to give");
  }
  const ItemKind kind = ItemKindOf(name.kind);
  const Gifts* gifts = nullptr;
  if (const auto found = gifts_.find(kind); found != gifts_.end()) gifts = &found->second;
  if (name.kind == BulkKind::kOpenedSum && IsLate(name.attempt)) gifts = &kept_.back().sums;
  if (gifts == nullptr) return std::nullopt;
  if (const auto given = std::ranges::find(*gifts, member, &Gift::member); given != gifts->end()) {
    if (std::ranges::equal(given->bytes, request.digest)) return request.total;
    return base::AlreadyExists("round {} attempt {}: another {} of this member was accepted",
                               name.attempt.round, name.attempt.attempt, BulkKindName(name.kind));
  }
  if (gifts->size() < most) return std::nullopt;
  return base::ResourceExhausted("round {} attempt {}: {} of kind {} are enough",
                                 name.attempt.round, name.attempt.attempt, gifts->size(),
                                 BulkKindName(name.kind));
}

absl::StatusOr<uint64_t> RoundServer::TakePart(uint64_t member, const PutPartRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    TACET_ASSIGN_OR_RETURN(const std::optional<uint64_t> arrived, CheckOffer(member, request));
    if (arrived.has_value()) return *arrived;
    if (!giving_.try_emplace(member, KeyOf(request.name, member)).second) {
      return base::ResourceExhausted("another part of this member is being taken");
    }
  }
  absl::StatusOr<uint64_t> arrived = TakeNewPart(member, request);
  const std::lock_guard lock(mutex_);
  giving_.erase(member);
  return arrived;
}

// Without the lock as long as bytes are written: the disk is slower than everything else.
absl::StatusOr<uint64_t> RoundServer::TakeNewPart(uint64_t member, const PutPartRequest& request) {
  const SpoolKey key = KeyOf(request.name, member);
  TACET_ASSIGN_OR_RETURN(uint64_t arrived, spool_.Arrived(key, request.digest));
  const bool known = request.offset <= arrived && request.part.size() <= arrived - request.offset;
  if (!known) {
    if (request.offset != arrived || request.part.size() > request.total - arrived) {
      return base::OutOfRange("{}: {} bytes at {}, {} of {} have arrived",
                              BulkKindName(request.name.kind), request.part.size(), request.offset,
                              arrived, request.total);
    }
    TACET_RETURN_IF_ERROR(spool_.Append(key, request.digest, arrived, request.part));
    arrived += request.part.size();
  }
  if (arrived < request.total) return arrived;
  TACET_ASSIGN_OR_RETURN(const base::Bytes whole, spool_.Complete(key, request.digest));
  TACET_RETURN_IF_ERROR(Locked([&] { return Accept(member, request, whole); }));
  return request.total;
}

absl::Status RoundServer::Accept(uint64_t member, const PutPartRequest& request,
                                 std::span<const uint8_t> whole) {
  // Things may have changed while the bytes were written.
  TACET_ASSIGN_OR_RETURN(const std::optional<uint64_t> given, CheckOffer(member, request));
  if (given.has_value()) return absl::OkStatus();
  // Something may have been swept away with an attempt that ended meanwhile.
  if (!spool_.ReadPart(KeyOf(request.name, member), 0, 0).ok()) {
    return base::Unavailable("{}: it is not kept any more, to be sent again",
                             BulkKindName(request.name.kind));
  }
  switch (request.name.kind) {
    case BulkKind::kUpload:
      TACET_RETURN_IF_ERROR(aggregator_->Submit(member, whole));
      // A crash before this line forgets the upload, and its sender sends it again.
      return Put(NumberOf(request.name.attempt), ItemKind::kAccepted, member, request.digest);
    case BulkKind::kOpenedSum:
      return AcceptOpenedSum(member, request);
    default:
      return Put(Beginning(), ItemKind::kCheckpoint, member, request.digest);
  }
}

absl::Status RoundServer::AcceptOpenedSum(uint64_t member, const PutPartRequest& request) {
  const AttemptNumber at = NumberOf(request.name.attempt);
  if (IsLate(request.name.attempt)) {
    const base::Bytes digest(request.digest.begin(), request.digest.end());
    TACET_RETURN_IF_ERROR(Noted(
        store_.PutItem(at, {.kind = ItemKind::kOpenedSum, .member = member, .bytes = digest})));
    kept_.back().sums.push_back({member, digest});
    CountRevision(true);
    return absl::OkStatus();
  }
  TACET_RETURN_IF_ERROR(Put(at, ItemKind::kOpenedSum, member, request.digest));
  if (GiftsOf(ItemKind::kOpenedSum).size() < secagg::Majority(openers())) return absl::OkStatus();
  return Finish(AttemptPhase::kPublished, "");
}

absl::StatusOr<SpoolKey> RoundServer::FindObject(const FetchPartRequest& request) const {
  const BulkName& name = request.name;
  const Gifts* gifts = nullptr;
  switch (name.kind) {
    case BulkKind::kUpload:
      return base::PermissionDenied("single uploads are given to nobody");
    case BulkKind::kClosedRound:
      TACET_RETURN_IF_ERROR(CheckOpen(name.attempt, AttemptPhase::kOpening));
      return SpoolKey{.name = name};
    case BulkKind::kOpenedSum: {
      const auto kept = std::ranges::find(kept_, name.attempt, &Kept::attempt);
      if (kept == kept_.end()) {
        return base::NotFound("round {} attempt {}: its sums are not kept", name.attempt.round,
                              name.attempt.attempt);
      }
      gifts = &kept->sums;
      break;
    }
    case BulkKind::kCheckpoint: {
      if (name.attempt.manifest_hash != manifest_.manifest().hash() ||
          NumberOf(name.attempt) != Beginning()) {
        return base::NotFound("round {}: its checkpoint is not kept, round {} comes next",
                              name.attempt.round, finished());
      }
      static const Gifts kNone;
      const auto found = gifts_.find(ItemKind::kCheckpoint);
      gifts = found == gifts_.end() ? &kNone : &found->second;
      break;
    }
  }
  if (request.index >= gifts->size()) {
    return base::OutOfRange("round {}: there are {} of kind {}", name.attempt.round, gifts->size(),
                            BulkKindName(name.kind));
  }
  const uint64_t member = (*gifts)[request.index].member;
  return KeyOf(name, member);
}

absl::StatusOr<FetchedPart> RoundServer::PartOf(const FetchPartRequest& request) const {
  SpoolKey key;
  {
    const std::lock_guard lock(mutex_);
    TACET_ASSIGN_OR_RETURN(key, FindObject(request));
  }
  return spool_.ReadPart(key, request.offset, kMostPartBytes);
}

absl::Status RoundServer::TakeVote(uint64_t member, const secagg::Attempt& attempt,
                                   std::span<const uint8_t> vote) {
  return Locked([&]() -> absl::Status {
    TACET_RETURN_IF_ERROR(CheckOpen(attempt, AttemptPhase::kOpening));
    return Put(NumberOf(attempt), ItemKind::kVote, member, vote);
  });
}

absl::StatusOr<std::vector<base::Bytes>> RoundServer::Votes(const secagg::Attempt& attempt) const {
  const std::lock_guard lock(mutex_);
  TACET_RETURN_IF_ERROR(CheckOpen(attempt, AttemptPhase::kOpening));
  return BytesOf(ItemKind::kVote);
}

std::vector<base::Bytes> RoundServer::BytesOf(ItemKind kind) const {
  std::vector<base::Bytes> all;
  if (const auto found = gifts_.find(kind); found != gifts_.end()) {
    for (const Gift& gift : found->second) all.push_back(gift.bytes);
  }
  return all;
}

absl::Status RoundServer::TakeRefusal(uint64_t member, const secagg::Attempt& attempt) {
  return Locked([&]() -> absl::Status {
    TACET_RETURN_IF_ERROR(CheckOpen(attempt, AttemptPhase::kOpening));
    TACET_RETURN_IF_ERROR(Put(NumberOf(attempt), ItemKind::kRefusal, member, {}));
    if (GiftsOf(ItemKind::kRefusal).size() < secagg::Majority(openers())) return absl::OkStatus();
    return Finish(AttemptPhase::kFailed, kRefused);
  });
}

absl::Status RoundServer::TakeStatement(uint64_t member, std::span<const uint8_t> bytes) {
  TACET_ASSIGN_OR_RETURN(const ModelStatement statement, ReadModelStatement(bytes, manifest_));
  if (statement.member != member) {
    return base::PermissionDenied("a statement of member {}, sent by member {}", statement.member,
                                  member);
  }
  return Locked([&]() -> absl::Status {
    TACET_RETURN_IF_ERROR(CheckFresh());
    const AttemptNumber at = Beginning();
    if (statement.round != at.round) {
      return base::FailedPrecondition("statement about round {}: round {} comes next",
                                      statement.round, at.round);
    }
    return Put(at, ItemKind::kStatement, member, bytes);
  });
}

absl::StatusOr<std::vector<base::Bytes>> RoundServer::Statements(uint32_t round) const {
  const std::lock_guard lock(mutex_);
  if (round == finished()) return BytesOf(ItemKind::kStatement);
  return base::NotFound("round {}: statements about it are not kept, round {} comes next", round,
                        finished());
}

ServerStatus RoundServer::Status() const {
  const std::lock_guard lock(mutex_);
  ServerStatus status{.last = std::nullopt,
                      .invited = static_cast<uint32_t>(cohort_.size()),
                      .finished = finished(),
                      .attempts = attempts_.size(),
                      .draining = draining_,
                      .stopped = stopped_};
  status.failed = static_cast<uint64_t>(
      std::ranges::count(attempts_, AttemptPhase::kFailed, &AttemptRecord::phase));
  if (attempts_.empty()) return status;
  status.last = attempts_.back();
  const auto accepted = gifts_.find(ItemKind::kAccepted);
  status.accepted = accepted == gifts_.end() ? 0 : static_cast<uint32_t>(accepted->second.size());
  return status;
}

std::vector<AttemptRecord> RoundServer::Attempts() const {
  const std::lock_guard lock(mutex_);
  return attempts_;
}

}  // namespace tacet::federation
