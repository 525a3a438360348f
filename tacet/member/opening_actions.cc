#include "tacet/member/opening_actions.h"

#include <utility>

#include "tacet/base/status.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/protocol/member_request.h"

namespace tacet::member {

absl::StatusOr<Event> OpeningActions::Do(const OpeningAction& action) {
  return std::visit([this](const auto& chosen) { return Do(chosen); }, action);
}

absl::StatusOr<Event> OpeningActions::Do(const action::FetchOpening& action) {
  absl::StatusOr<std::vector<base::Bytes>> fetched = parts_.server.FetchOpeningStatements();
  if (!fetched.ok() && protocol::IsRetryable(fetched.status())) return fetched.status();
  heard_ = fetched.ok() ? *std::move(fetched) : std::vector<base::Bytes>();
  event::OpeningHeard heard;
  for (const base::Bytes& bytes : heard_) {
    const auto statement = protocol::ReadOpeningStatement(bytes, parts_.manifest);
    if (statement.ok()) heard.statements.push_back(*statement);
  }
  if (!action.with_own_vote) return heard;
  TACET_RETURN_IF_ERROR(LoadVote());
  if (!kept_.empty()) {
    TACET_ASSIGN_OR_RETURN(const protocol::OpeningStatement vote,
                           protocol::ReadOpeningStatement(kept_.front(), parts_.manifest));
    heard.own_vote = vote.state;
  }
  return heard;
}

absl::Status OpeningActions::LoadVote() {
  kept_.clear();
  const absl::StatusOr<base::Bytes> bytes = parts_.state.LoadOpeningVote();
  if (bytes.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(bytes.status());
  absl::StatusOr<std::vector<base::Bytes>> kept = protocol::ReadBlobs(*bytes);
  // Another epoch's counts as none. So does a damaged one: the server has this seat's vote.
  if (!kept.ok() || kept->empty()) return absl::OkStatus();
  const absl::Status read = protocol::ReadOpeningStatement(kept->front(), parts_.manifest).status();
  if (read.ok()) kept_ = *std::move(kept);
  const bool is_none = read.code() == absl::StatusCode::kFailedPrecondition ||
                       read.code() == absl::StatusCode::kDataLoss;
  return is_none ? absl::OkStatus() : read;
}

absl::StatusOr<Event> OpeningActions::Do(const action::ReadEarlier&) {
  TACET_ASSIGN_OR_RETURN(const std::optional<protocol::Checkpoint> earlier, model_.Earlier());
  if (!earlier.has_value()) return event::EarlierRead{};
  return event::EarlierRead{protocol::OpeningStateOf(
      earlier->next_round, protocol::DigestsOf(*earlier, model_.digest_key()))};
}

absl::StatusOr<Event> OpeningActions::Do(const action::KeepVote& action) {
  std::vector<base::Bytes> kept = {Signed(
      {.word = protocol::OpeningWord::kVote, .member = parts_.member, .state = action.state})};
  if (action.with_own) kept.push_back(own_states_);
  kept.insert(kept.end(), heard_.begin(), heard_.end());
  TACET_RETURN_IF_ERROR(parts_.state.SaveOpeningVote(protocol::WriteBlobs(kept)));
  kept_ = std::move(kept);
  return event::Done{};
}

absl::StatusOr<Event> OpeningActions::Do(const action::SendVote&) {
  return Put("opening-vote", kept_.front());
}

absl::StatusOr<Event> OpeningActions::Do(const action::SendReasons&) {
  for (size_t i = 1; i < kept_.size(); ++i) {
    TACET_RETURN_IF_ERROR(Put("opening-state", kept_[i]).status());
  }
  return event::Done{};
}

absl::StatusOr<Event> OpeningActions::Do(const action::SendStates& action) {
  own_states_ = Signed(action.statement);
  return Put("opening-state", own_states_);
}

base::Bytes OpeningActions::Signed(const protocol::OpeningStatement& statement) const {
  return protocol::WriteOpeningStatement(statement, parts_.manifest, parts_.signing_key);
}

absl::StatusOr<Event> OpeningActions::Put(std::string_view what, const base::Bytes& statement) {
  TACET_RETURN_IF_ERROR(
      notes_.Settle(what, {.epoch = parts_.manifest.epoch(), .round = model_.next_round()},
                    parts_.server.PutOpeningStatement(statement), statement));
  return event::Done{};
}

}  // namespace tacet::member
