#include "tacet/member/seat_actions.h"

#include <algorithm>
#include <utility>

#include "tacet/agreement/pair_keys.h"
#include "tacet/base/status.h"
#include "tacet/member/fetched_rounds.h"
#include "tacet/protocol/abstention.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/vote.h"

namespace tacet::member {
namespace {

// The bytes in a journal; nothing where that is lost.
absl::StatusOr<base::Bytes> Kept(const secagg::Journal& journal, const secagg::Attempt& attempt,
                                 secagg::JournalStep step) {
  absl::StatusOr<base::Bytes> kept = journal.Find(attempt, step);
  return kept.ok() || protocol::IsRetryable(kept.status()) ? std::move(kept) : base::Bytes();
}

}  // namespace

SeatActions::SeatActions(const MemberParts& parts, MemberNotes& notes, const UploadActions& uploads)
    : parts_(parts),
      notes_(notes),
      uploads_(uploads),
      pair_key_of_([this](uint64_t client) { return PairKeyOf(client); }) {}

absl::StatusOr<Event> SeatActions::Do(const SeatAction& action) {
  return std::visit([this](const auto& chosen) { return Do(chosen); }, action);
}

absl::StatusOr<secagg::ListedPairKey> SeatActions::PairKeyOf(uint64_t client) const {
  const auto known = pair_keys_.find(client);
  if (known != pair_keys_.end()) return known->second.Copy();
  return base::NotFound("the server does not give this seat the key packet of member {}", client);
}

absl::Status SeatActions::MakePairKeys(const secagg::Roster& roster) {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  std::map<uint64_t, crypto::Digest> wanted;  // lists, by member
  for (size_t i = 0; i < roster.members.size(); ++i) {
    // That each is a member is for the vote to check.
    if (roster.members[i] >= parts_.manifest.members().size()) continue;
    wanted.try_emplace(roster.members[i], roster.lists[i]);
  }
  // A key of another list is asked for again: the server may have lied before, and no longer.
  const auto has_key = [this](const auto& one) {
    const auto known = pair_keys_.find(one.first);
    return known != pair_keys_.end() && known->second.list == one.second;
  };
  std::erase_if(wanted, has_key);
  const auto read = [&](std::span<const uint8_t> copy) -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const secagg::KeyPacket packet,
                           secagg::ReadKeyPacket(copy, manifest.committee().size(), work_.seat));
    const auto one = wanted.find(packet.owner.client);
    if (one == wanted.end() ? pair_keys_.contains(packet.owner.client) : has_key(*one)) {
      return absl::OkStatus();
    }
    TACET_ASSIGN_OR_RETURN(
        agreement::ClientPairKey pair,
        agreement::PairKeyByPacket(manifest, parts_.pair_secrets(), work_.seat, packet));
    pair_keys_.insert_or_assign(pair.client, secagg::ListedPairKey{pair.list, std::move(pair.key)});
    return absl::OkStatus();
  };
  while (!wanted.empty()) {
    const std::pair<uint64_t, crypto::Digest> next = *wanted.begin();
    const uint64_t from = pair_keys_.empty() ? 0 : next.first;
    TACET_RETURN_IF_ERROR(parts_.server.FetchPackets(work_.attempt, from, read));
    if (!has_key(next)) break;  // nobody votes for a roster with this member
    std::erase_if(wanted, has_key);
  }
  return absl::OkStatus();
}

absl::StatusOr<Event> SeatActions::Settle(std::string_view what, const absl::Status& sent,
                                          const base::Bytes& bytes) {
  TACET_RETURN_IF_ERROR(notes_.Settle(what, work_.attempt.number, sent, bytes));
  return event::Done{};
}

absl::StatusOr<Event> SeatActions::Do(const action::FetchClosedRound& action) {
  using Kind = event::ClosedRoundFetched::Kind;
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  const secagg::Terms& terms = manifest.terms();
  work_ = {};
  work_.attempt = action.attempt;
  work_.seat = secagg::SeatOf(manifest.committee(), parts_.member).value();
  work_.keys = secagg::DeriveAttemptKeys(parts_.epoch_key, manifest.spec().scheme, action.attempt);
  if (action.has_upload) {
    TACET_ASSIGN_OR_RETURN(
        const secagg::UploadView view,
        secagg::ReadUploadFields(uploads_.upload(), action.attempt, terms.aggregation()));
    work_.own_upload = view.nonce;
  }
  absl::StatusOr<secagg::ClosedRound> round = absl::UnknownError("it was not fetched");
  absl::StatusOr<base::Bytes> closed = FetchClosedRound(parts_, action.attempt, round);
  secagg::Roster named;
  const auto read_roster = [&](std::span<const uint8_t> bytes) -> absl::Status {
    TACET_ASSIGN_OR_RETURN(secagg::Roster roster,
                           secagg::ReadRoster(bytes, action.attempt, terms.max_participants()));
    if (!round.ok()) return absl::OkStatus();
    if (secagg::RosterDigest(roster) == round->roster_digest) {
      named = std::move(roster);
      return absl::OkStatus();
    }
    return base::DataLoss("the roster is not that of the closed round");
  };
  absl::StatusOr<base::Bytes> roster =
      parts_.server.Fetch({.kind = protocol::BulkKind::kRoster, .attempt = action.attempt}, 0,
                          secagg::RosterBytes(terms.max_participants()), read_roster);
  for (const absl::Status& status : {closed.status(), roster.status()}) {
    if (status.ok()) continue;
    if (protocol::IsRetryable(status)) return status;
    return event::ClosedRoundFetched{.kind = Kind::kNotThere, .why = base::Message(status)};
  }
  if (!round.ok()) {
    return event::ClosedRoundFetched{.kind = Kind::kUnreadable,
                                     .why = base::Message(round.status())};
  }
  const absl::Status packets = MakePairKeys(named);
  if (!packets.ok()) {
    if (protocol::IsRetryable(packets)) return packets;
    const bool unreadable = packets.code() == absl::StatusCode::kDataLoss ||
                            packets.code() == absl::StatusCode::kPermissionDenied;
    return event::ClosedRoundFetched{.kind = unreadable ? Kind::kUnreadable : Kind::kNotThere,
                                     .why = base::Message(packets)};
  }
  work_.round_hash = secagg::ClosedRoundHash(*round);
  work_.closed_round = *std::move(closed);
  work_.roster = *std::move(roster);
  return event::ClosedRoundFetched{
      .kind = Kind::kRead,
      .participants = static_cast<uint32_t>(round->nonces.size()),
      .has_own = work_.own_upload.has_value() &&
                 std::ranges::binary_search(round->nonces, *work_.own_upload)};
}

absl::StatusOr<Event> SeatActions::Do(const action::RecordVote& action) {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  work_.member = std::make_unique<secagg::CommitteeMember>(
      secagg::CommitteeMemberParts{.terms = manifest.terms(),
                                   .committee = manifest.committee(),
                                   .signing_key = parts_.signing_key,
                                   .result_key = work_.keys.result_key,
                                   .pair_key_of = pair_key_of_,
                                   .journal = parts_.state,
                                   .entropy = parts_.entropy},
      work_.attempt, work_.seat, manifest.spec().sampling.clients,
      secagg::OwnUpload{.nonce = work_.own_upload, .acknowledged = action.acknowledged});
  absl::StatusOr<base::Bytes> vote = work_.member->Vote(work_.closed_round, work_.roster);
  if (!vote.ok()) {
    if (protocol::IsRetryable(vote.status())) return vote.status();  // the journal's disk
    return event::VoteRecorded{base::Message(vote.status())};
  }
  work_.vote = *std::move(vote);
  TACET_RETURN_IF_ERROR(Anchor(secagg::JournalStep::kVote, work_.vote));
  return event::VoteRecorded{};
}

absl::StatusOr<Event> SeatActions::Do(const action::SendRoundVote&) {
  return Settle("vote", parts_.server.PutVote(work_.attempt, work_.vote), work_.vote);
}

absl::StatusOr<Event> SeatActions::Do(const action::FetchVotes&) {
  const secagg::Committee& committee = parts_.manifest.manifest().committee();
  absl::StatusOr<std::vector<base::Bytes>> votes = member::FetchVotes(parts_, work_.attempt);
  if (!votes.ok()) {
    if (protocol::IsRetryable(votes.status())) return votes.status();
    return event::VotesFetched{.over = true};
  }
  const size_t abstentions =
      protocol::AbstentionsAmong(*votes, work_.attempt, parts_.manifest).size();
  const bool all_voted = votes->size() - abstentions >= committee.size();
  work_.votes = *std::move(votes);
  work_.votes.push_back(work_.vote);
  return event::VotesFetched{
      .seats = secagg::SeatsVotingFor(work_.round_hash, work_.votes, work_.attempt, committee),
      .all_voted = all_voted};
}

absl::StatusOr<Event> SeatActions::Do(const action::ForgetEarlier&) {
  TACET_RETURN_IF_ERROR(parts_.state.ForgetEarlierCheckpoint());
  return event::Done{};
}

absl::StatusOr<Event> SeatActions::Do(const action::RecordShare&) {
  TACET_ASSIGN_OR_RETURN(work_.share, work_.member->Unmask(work_.votes));
  TACET_RETURN_IF_ERROR(Anchor(secagg::JournalStep::kUnmaskShare, work_.share));
  return event::Done{};
}

absl::StatusOr<Event> SeatActions::Do(const action::SendShare&) {
  const base::Bytes share = std::move(work_.share);
  return Settle("unmask-share",
                parts_.server.Put(
                    {.kind = protocol::BulkKind::kUnmaskShare, .attempt = work_.attempt}, share),
                share);
}

absl::StatusOr<Event> SeatActions::Do(const action::DecryptSum&) {
  using Kind = event::SumJudged::Kind;
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  TACET_ASSIGN_OR_RETURN(const std::vector<secagg::UnmaskShare> shares,
                         FetchUnmaskShares(parts_, notes_, work_.attempt));
  const absl::Status decrypted =
      secagg::DecryptRound(manifest.terms(), manifest.committee(), work_.attempt, work_.keys,
                           work_.closed_round, work_.votes, shares)
          .status();
  const he::KeySharing& sharing = manifest.terms().aggregation().sharing();
  event::SumJudged judged{.shows_wrong_shares = sharing.ShowsWrongShares(shares.size())};
  if (decrypted.ok()) return judged;
  const auto of_round =
      std::ranges::count(shares, work_.round_hash, &secagg::UnmaskShare::round_hash);
  judged.kind = decrypted.code() != absl::StatusCode::kUnavailable ? Kind::kUnsound
                : static_cast<size_t>(of_round) < sharing.votes()  ? Kind::kTooFewShares
                                                                   : Kind::kDoubtful;
  judged.why = base::Message(decrypted);
  return judged;
}

absl::StatusOr<Event> SeatActions::Do(const action::SendCheckRow&) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes row, work_.member->CheckShares());
  return Settle(
      "check-row",
      parts_.server.Put({.kind = protocol::BulkKind::kCheckRow, .attempt = work_.attempt}, row),
      row);
}

absl::Status SeatActions::LoadWords() {
  if (words_.has_value()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const std::optional<SeatWords> kept, parts_.anchor->Load());
  words_ = kept.value_or(SeatWords{});
  return absl::OkStatus();
}

void SeatActions::Hear(const secagg::Attempt& attempt) {
  const secagg::Committee& committee = parts_.manifest.manifest().committee();
  if (parts_.anchor == nullptr || !secagg::SeatOf(committee, parts_.member).has_value()) return;
  if (!LoadWords().ok()) return;
  const bool has_heard = words_->attempt != secagg::Attempt{};
  if (has_heard && attempt.number <= words_->attempt.number) return;
  const SeatWords heard{.attempt = attempt};
  if (parts_.anchor->Save(heard).ok()) words_ = heard;
}

absl::Status SeatActions::Anchor(secagg::JournalStep step, const base::Bytes& message) {
  if (parts_.anchor == nullptr) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(LoadWords());
  SeatWords next = words_->attempt == work_.attempt ? *words_ : SeatWords{.attempt = work_.attempt};
  const bool is_vote = step == secagg::JournalStep::kVote;
  next.progress = std::max(next.progress, is_vote ? SeatProgress::kVoted : SeatProgress::kUnmasked);
  (is_vote ? next.vote : next.share) = crypto::Sha256(message);
  if (next == *words_) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(parts_.anchor->Save(next));
  words_ = next;
  return absl::OkStatus();
}

absl::StatusOr<Event> SeatActions::Do(const action::MakeAnchor& action) {
  SeatWords words;
  if (action.open.has_value()) {
    words = {.attempt = *action.open, .progress = SeatProgress::kSilent};
    const absl::StatusOr<base::Bytes> vote =
        parts_.state.Find(*action.open, secagg::JournalStep::kVote);
    const absl::StatusOr<base::Bytes> share =
        parts_.state.Find(*action.open, secagg::JournalStep::kUnmaskShare);
    for (const absl::Status& status : {vote.status(), share.status()}) {
      if (protocol::IsRetryable(status)) return status;
    }
    if (!action.silent && vote.ok()) {
      words.progress = share.ok() ? SeatProgress::kUnmasked : SeatProgress::kVoted;
      words.vote = crypto::Sha256(*vote);
      if (share.ok()) words.share = crypto::Sha256(*share);
    }
  }
  if (const absl::Status saved = parts_.anchor->Save(words); !saved.ok()) {
    return event::AnchorMade{base::Message(saved)};
  }
  words_ = words;
  return event::AnchorMade{};
}

absl::StatusOr<Event> SeatActions::Do(const action::GiveBack& action) {
  bool taken = false;
  const auto give = [&](protocol::BulkKind kind, const base::Bytes& bytes) -> absl::Status {
    if (bytes.empty()) return absl::OkStatus();
    const absl::Status given = parts_.server.Put({.kind = kind, .attempt = action.attempt}, bytes);
    taken = taken || given.ok();
    return protocol::IsRetryable(given) ? given : absl::OkStatus();
  };
  TACET_ASSIGN_OR_RETURN(const base::Bytes share,
                         Kept(parts_.state, action.attempt, secagg::JournalStep::kUnmaskShare));
  TACET_RETURN_IF_ERROR(give(protocol::BulkKind::kUnmaskShare, share));
  if (work_.attempt == action.attempt && !work_.closed_round.empty()) {
    TACET_RETURN_IF_ERROR(give(protocol::BulkKind::kClosedRound, work_.closed_round));
    TACET_RETURN_IF_ERROR(give(protocol::BulkKind::kRoster, work_.roster));
  } else {  // another process worked at it
    TACET_ASSIGN_OR_RETURN(const base::Bytes closed,
                           Kept(parts_.state, action.attempt, secagg::JournalStep::kClosedRound));
    TACET_RETURN_IF_ERROR(give(protocol::BulkKind::kClosedRound, closed));
  }
  if (taken) {
    TACET_RETURN_IF_ERROR(notes_.Note("gave-back", action.attempt.number,
                                      "the server has lost what it had of this attempt"));
  }
  return event::Done{};
}

absl::StatusOr<Event> SeatActions::Do(const action::SendVerdict& action) {
  // So f + 1 seats have the closed round of a published sum, also after all were started again. A
  // copy that was damaged is not missed.
  if (action.confirmed) {
    const absl::Status kept =
        parts_.state.Record(work_.attempt, secagg::JournalStep::kClosedRound, work_.closed_round);
    if (protocol::IsRetryable(kept)) return kept;
  }
  return Settle(action.confirmed ? "confirmation" : "refusal",
                parts_.server.PutVerdict(work_.attempt, action.confirmed), {});
}

}  // namespace tacet::member
