#include "tacet/host/next_questions.h"

#include <variant>

#include "tacet/secagg/committee.h"
#include "tacet/secagg/unmask_share.h"

namespace tacet::host {
namespace {

using protocol::AttemptPhase;
using protocol::BulkKind;

constexpr size_t kMostHeard = 4;
constexpr size_t kMostObjects = 256;

}  // namespace

void NextQuestions::NoteAnnouncement(std::span<const uint8_t> announcement) {
  const auto heard = protocol::ReadAnnouncement(announcement);
  if (!heard.ok()) return;
  heard_ = {{heard->revision, heard->first_listed + heard->listed.size()}};
}

size_t NextQuestions::Shares(const secagg::Attempt& attempt) const {
  const auto part =
      rounds_.OpenPart(member_, {.name = {.kind = BulkKind::kUnmaskShare, .attempt = attempt}});
  if (!part.ok()) return 0;
  const he::KeySharing& sharing = manifest_.manifest().terms().aggregation().sharing();
  const size_t shares = part->object->size() / secagg::UnmaskShareBytes(sharing);
  return shares >= sharing.threshold() ? shares : 0;
}

bool NextQuestions::HasSeat() const {
  return secagg::SeatOf(manifest_.manifest().committee(), member_).has_value();
}

NextQuestions::Stage NextQuestions::StageNow() const {
  Stage stage;
  const auto now = rounds_.AnnouncementFor(member_, 0, true);
  if (!now.ok()) return stage;
  stage.current = now->current;
  stage.finished = now->finished;
  stage.stopped = now->stopped;
  if (const auto opening = rounds_.Listed(protocol::FetchOpeningRequest{}); opening.ok()) {
    stage.opening_statements = opening->size();
  }
  if (!now->current.has_value() || now->current->phase != AttemptPhase::kUnmasking) return stage;
  const auto votes = rounds_.Listed(protocol::FetchVotesRequest{.attempt = now->current->attempt});
  const size_t quorum = manifest_.manifest().terms().aggregation().sharing().votes();
  if (votes.ok() && votes->size() >= quorum) stage.votes = votes->size();
  stage.shares = Shares(now->current->attempt);
  return stage;
}

void NextQuestions::NoteAwait(const protocol::AwaitRequest& request) {
  const Heard heard{request.known_revision, request.listed_from};
  if (!heard_.contains(heard)) Forget();  // such as another process of the member
  heard_ = {heard};
}

void NextQuestions::Forget() {
  told_.reset();
  objects_.clear();
  packets_pushed_ = false;
}

std::optional<Awaited> NextQuestions::AwaitedAfter(const protocol::RequestHead& request,
                                                   const base::Bytes& answer) const {
  using What = Awaited::What;
  const protocol::RequestBody& body = request.request.body;
  if (std::holds_alternative<protocol::PutAttestationRequest>(body)) return Awaited{};
  if (const auto* vote = std::get_if<protocol::PutVoteRequest>(&body); vote != nullptr) {
    return Awaited{What::kVotes, vote->attempt.number};
  }
  if (const auto* verdict = std::get_if<protocol::PutVerdictRequest>(&body); verdict != nullptr) {
    return Awaited{What::kEnd, verdict->attempt.number};
  }
  const auto* const put = std::get_if<protocol::PutPartRequest>(&body);
  if (put == nullptr || request.content_bytes == 0) return std::nullopt;
  const auto arrived = protocol::ReadArrived(answer);
  if (!arrived.ok() || *arrived != put->total) return std::nullopt;
  switch (put->name.kind) {
    case BulkKind::kUpload:
      return Awaited{HasSeat() ? What::kSum : What::kEnd, put->name.attempt.number};
    case BulkKind::kUnmaskShare:
      return Awaited{What::kShares, put->name.attempt.number};
    case BulkKind::kCheckpoint:
      return Awaited{};
    default:
      return std::nullopt;
  }
}

bool NextQuestions::IsThere(const Awaited& awaited) const {
  using What = Awaited::What;
  const Stage now = StageNow();
  const AttemptPhase phase = now.current.has_value() ? now.current->phase : AttemptPhase::kFailed;
  const bool is_open = phase == AttemptPhase::kCollecting || phase == AttemptPhase::kUnmasking;
  if (awaited.what == What::kAttempt) return is_open || now.stopped || rounds_.Idle();
  if (!is_open || now.current->attempt.number != awaited.attempt) return true;
  if (phase == AttemptPhase::kCollecting) return false;
  switch (awaited.what) {
    case What::kVotes:
      return now.votes > 0;
    case What::kShares:
      return now.shares > 0;
    default:
      return awaited.what == What::kSum;
  }
}

bool NextQuestions::HasNews() const { return !told_.has_value() || StageNow() != *told_; }

std::optional<base::Bytes> NextQuestions::Push(const protocol::RequestBody& body, Pushed& pushed) {
  if (pushed.size() >= transport::relay::kMaxCalls) return std::nullopt;
  absl::StatusOr<base::Bytes> answer = handler_.AnswerUnasked(member_, body);
  if (!answer.ok() || answer->size() > transport::relay::kMaxAnswerBytes) return std::nullopt;
  pushed.push_back({protocol::QuestionOf(body), *answer});
  return *std::move(answer);
}

void NextQuestions::PushAnnouncements(Pushed& pushed) {
  std::set<Heard> next;
  for (const Heard& heard : heard_) {
    for (const bool unmasking : {false, true}) {
      const protocol::AwaitRequest await{
          .known_revision = heard.revision, .listed_from = heard.listed, .unmasking = unmasking};
      if (!rounds_.IsNews(await)) continue;
      const std::optional<base::Bytes> answer = Push(await, pushed);
      if (!answer.has_value()) continue;
      const auto told = protocol::ReadAnnouncement(*answer);
      if (told.ok()) next.insert({told->revision, told->first_listed + told->listed.size()});
    }
  }
  heard_.merge(next);
  while (heard_.size() > kMostHeard) heard_.erase(heard_.begin());  // the oldest
}

bool NextQuestions::PushObject(BulkKind kind, const secagg::Attempt& attempt, bool published,
                               Pushed& pushed) {
  protocol::FetchPartRequest request{.name = {.kind = kind, .attempt = attempt}};
  if (objects_.size() >= kMostObjects) objects_.clear();
  if (!objects_.insert({protocol::QuestionOf(request), published}).second) return false;
  while (true) {
    const std::optional<base::Bytes> answer = Push(request, pushed);
    if (!answer.has_value()) return true;
    const auto part = protocol::ReadFetchedPart(*answer);
    if (!part.ok()) return true;
    request.offset += part->part.size();
    if (part->part.empty() || request.offset >= part->total) return true;
  }
}

void NextQuestions::PushSum(const secagg::Attempt& attempt, bool published, Pushed& pushed) {
  if (!PushObject(BulkKind::kClosedRound, attempt, published, pushed) && published) return;
  (void)Push(protocol::FetchVotesRequest{.attempt = attempt}, pushed);
  (void)Push(
      protocol::FetchPartRequest{.name = {.kind = BulkKind::kUnmaskShare, .attempt = attempt}},
      pushed);
}

std::vector<transport::relay::PushedAnswer> NextQuestions::Answers() {
  Pushed pushed;
  const auto now = rounds_.AnnouncementFor(member_, 0, true);
  if (!now.ok()) return pushed;
  told_ = StageNow();
  PushAnnouncements(pushed);
  if (now->current.has_value() && now->current->phase == AttemptPhase::kUnmasking && HasSeat()) {
    // The first question of a seat that has no key packet. Those of members that come later it asks
    // for itself.
    if (PushObject(BulkKind::kRoster, now->current->attempt, false, pushed) && !packets_pushed_) {
      packets_pushed_ =
          Push(protocol::FetchPacketsRequest{.attempt = now->current->attempt}, pushed).has_value();
    }
    PushSum(now->current->attempt, false, pushed);
  } else if (!now->kept.empty() && now->kept.back().number.round + 1 == now->finished) {
    PushSum(now->kept.back(), true, pushed);
  }
  return pushed;
}

}  // namespace tacet::host
