#include "tacet/host/operator_desk.h"

#include <algorithm>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::host {

using base::JsonValue;
using tacet::server::Item;
using tacet::server::ItemKind;

namespace {

constexpr std::chrono::seconds kBetweenRefusals(10);

bool IsOpen(const tacet::server::ServerStatus& status) {
  return status.last.has_value() && status.last->phase != protocol::AttemptPhase::kPublished &&
         status.last->phase != protocol::AttemptPhase::kFailed;
}

// As the page and the log name it.
JsonValue LogFields(const OperatorAction& action, uint64_t revision) {
  JsonValue fields = JsonValue::MakeObject().Set("revision", revision);
  const JsonValue whole = OperatorActionJson(action);
  for (const auto& [key, value] : whole.members()) {
    if (key != "at") fields.Set(key, value);
  }
  return fields;
}

}  // namespace

void OperatorDesk::Take(OperatorAction action) {
  const uint64_t number = state_.revision++;
  state_.kept.push_back(number);
  state_.times.push_back(action.at);
  if (state_.times.size() > kMostInTime) state_.times.erase(state_.times.begin());
  switch (action.verb) {
    case OperatorVerb::kPause:
      state_.in_force[""] = number;
      state_.pause = std::move(action);
      break;
    case OperatorVerb::kResume:
      state_.in_force.erase("");
      state_.pause.reset();
      break;
    case OperatorVerb::kAcknowledge: {
      std::string problem = action.problem;
      state_.in_force[problem] = number;
      state_.acknowledged[std::move(problem)] = std::move(action);
      break;
    }
    case OperatorVerb::kStartEpoch:
      break;  // it has begun by now, or begins with the next start
  }
}

void OperatorDesk::Obey() const {
  rounds_.Obey(tacet::server::PauseAsked{.paused = state_.pause.has_value()});
}

absl::Status OperatorDesk::Refresh() {
  const base::MutexLock lock(mutex_);
  if (!stale_) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const std::vector<Item> items,
                         store_.Items(tacet::server::kOperatorsPlace));
  const bool was_paused = state_.pause.has_value();
  state_ = State();
  for (const Item& item : items) {
    // Numbers between them are of actions that were forgotten.
    if (item.kind != ItemKind::kOperator || item.member < state_.revision) {
      return base::DataLoss("the store has action {} of an operator behind action {}", item.member,
                            state_.revision);
    }
    state_.revision = item.member;
    TACET_ASSIGN_OR_RETURN(OperatorAction action, ReadOperatorAction(item.bytes));
    Take(std::move(action));
  }
  stale_ = false;
  Obey();
  if (state_.pause.has_value() && !was_paused) {
    log_.Write(LogLevel::kWarning, "pause-found", LogFields(*state_.pause, state_.revision));
  }
  return absl::OkStatus();
}

absl::Status OperatorDesk::Check(OperatorRequest& request, std::span<const Problem> shown) const {
  OperatorAction& action = request.action;
  if (request.revision != state_.revision) {
    return absl::AbortedError(
        "another action came in between, or this one was sent twice: look at the page again");
  }
  if (starts_epoch_) return base::FailedPrecondition("the server is about to start an epoch");
  // Times ahead of a clock that was set back count as long ago: nobody could resume until then.
  const auto lately = std::ranges::count_if(state_.times, [&action](uint64_t time) {
    return time <= action.at && action.at - time < kTime;
  });
  if (lately >= static_cast<std::ptrdiff_t>(kMostInTime)) {
    return base::ResourceExhausted("more than {} actions in {} seconds: wait", kMostInTime, kTime);
  }
  switch (action.verb) {
    case OperatorVerb::kPause:
      if (state_.pause.has_value()) return base::FailedPrecondition("it is paused already");
      break;
    case OperatorVerb::kResume:
      if (!state_.pause.has_value()) return base::FailedPrecondition("it is not paused");
      break;
    case OperatorVerb::kAcknowledge: {
      const auto problem = std::ranges::find_if(
          shown, [&action](const Problem& one) { return KindOf(one.code).name == action.problem; });
      if (problem == shown.end()) {
        return base::FailedPrecondition("no problem `{}` is shown now", action.problem);
      }
      action.members.clear();
      for (const ConcernedMember& one : problem->members) {
        if (action.members.size() == kMostNamed) break;
        action.members.push_back(manifest_.members()[one.member].name);
      }
      break;
    }
    case OperatorVerb::kStartEpoch:
      if (prepared_ != action.epoch) {
        return base::FailedPrecondition(
            "no invitation to epoch {} was accepted here: `tacet client join FILE` does it",
            action.epoch);
      }
      break;
  }
  return absl::OkStatus();
}

absl::Status OperatorDesk::Keep(const OperatorAction& action) {
  const absl::Status kept =
      store_.PutItem(tacet::server::kOperatorsPlace, {.kind = ItemKind::kOperator,
                                                      .member = state_.revision,
                                                      .bytes = WriteOperatorAction(action)});
  if (kept.ok()) return kept;
  stale_ = true;
  return base::Unavailable(
      "the server's store failed; look at the page again before you repeat it");
}

// In the order of their numbers: a pause goes before what ended it. What a failing store keeps is
// forgotten after a later action.
void OperatorDesk::Forget() {
  std::vector<uint64_t> kept;
  bool works = true;
  for (const uint64_t number : state_.kept) {
    const bool is_needed =
        number + kMostInTime >= state_.revision ||
        std::ranges::any_of(state_.in_force, [&](const auto& one) { return one.second == number; });
    works = works &&
            (is_needed ||
             store_.ForgetItem(tacet::server::kOperatorsPlace, ItemKind::kOperator, number).ok());
    if (is_needed || !works) kept.push_back(number);
  }
  state_.kept = std::move(kept);
}

absl::Status OperatorDesk::Act(const OperatorRequest& request) {
  const OperatorAction& action = request.action;
  const bool starts = action.verb == OperatorVerb::kStartEpoch;
  if (starts) {
    // No attempt begins unseen after this line.
    rounds_.Obey(tacet::server::PauseAsked{.paused = true});
    if (!request.end_attempt && IsOpen(rounds_.Status())) {
      Obey();
      return base::FailedPrecondition(
          "an attempt is open, and would be begun and charged again in the next epoch: pause, wait "
          "for its end, and start the epoch then");
    }
  }
  if (absl::Status kept = Keep(action); !kept.ok()) {
    Obey();
    return kept;
  }
  Take(action);
  Forget();
  starts_epoch_ = starts;
  if (!starts) Obey();
  log_.Write(LogLevel::kInfo, "operator-acted", LogFields(action, state_.revision));
  return absl::OkStatus();
}

absl::Status OperatorDesk::Do(const OperatorRequest& request, std::string_view by,
                              std::span<const Problem> shown) {
  const absl::Status fresh = Refresh();
  const base::MutexLock lock(mutex_);
  if (!fresh.ok() || stale_) return base::Unavailable("the server's store failed: try again later");
  OperatorRequest asked = request;
  asked.action.by = by;
  asked.action.at = clock_();
  TACET_RETURN_IF_ERROR(Check(asked, shown));
  return Act(asked);
}

void OperatorDesk::NoteRefused(std::string_view reason, std::string_view by) {
  {
    const base::MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    const auto known = refused_.find(reason);
    if (known != refused_.end() && now - known->second < kBetweenRefusals) return;
    refused_.insert_or_assign(std::string(reason), now);
  }
  JsonValue fields = JsonValue::MakeObject().Set("reason", reason);
  if (!by.empty()) fields.Set("by", by);
  log_.Write(LogLevel::kWarning, "operator-refused", std::move(fields));
}

void OperatorDesk::SetPrepared(std::optional<uint32_t> epoch) {
  const base::MutexLock lock(mutex_);
  prepared_ = epoch;
}

bool OperatorDesk::StartsEpoch() const {
  const base::MutexLock lock(mutex_);
  return starts_epoch_;
}

JsonValue OperatorDesk::Json() const {
  const base::MutexLock lock(mutex_);
  JsonValue acknowledged = JsonValue::MakeArray();
  for (const auto& [problem, action] : state_.acknowledged) {
    acknowledged.Append(OperatorActionJson(action));
  }
  return JsonValue::MakeObject()
      .Set("revision", state_.revision)
      .Set("pause", state_.pause.has_value() ? OperatorActionJson(*state_.pause) : JsonValue())
      .Set("prepared", prepared_.has_value() ? JsonValue(*prepared_) : JsonValue())
      .Set("acknowledged", std::move(acknowledged));
}

}  // namespace tacet::host
