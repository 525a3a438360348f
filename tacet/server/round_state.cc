#include "tacet/server/round_state.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tacet/secagg/key_packet.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

constexpr std::array kForgottenOfPublished = {
    ItemKind::kAccepted, ItemKind::kRoster, ItemKind::kRefusal,   ItemKind::kConfirmation,
    ItemKind::kCheckRow, ItemKind::kShares, ItemKind::kAbstention};
constexpr std::array kForgottenOfFailed = {
    ItemKind::kAccepted,    ItemKind::kRoster,   ItemKind::kRefusal,     ItemKind::kConfirmation,
    ItemKind::kClosedRound, ItemKind::kVote,     ItemKind::kUnmaskShare, ItemKind::kCheckRow,
    ItemKind::kShares,      ItemKind::kAbstained};

// The list of one kind in a phase, const as the phase is; null where the phase takes none of it.
template <typename UnmaskingPhase>
auto ListInUnmasking(UnmaskingPhase& unmasking, ItemKind kind) -> decltype(&unmasking.accepted) {
  switch (kind) {
    case ItemKind::kAccepted:
      return &unmasking.accepted;
    case ItemKind::kClosedRound:
      return &unmasking.closed_round;
    case ItemKind::kRoster:
      return &unmasking.roster;
    case ItemKind::kShares:
      return &unmasking.shares;
    case ItemKind::kVote:
      return &unmasking.votes;
    case ItemKind::kUnmaskShare:
      return &unmasking.unmask_shares;
    case ItemKind::kCheckRow:
      return &unmasking.check_rows;
    case ItemKind::kRefusal:
      return &unmasking.refusals;
    case ItemKind::kConfirmation:
      return &unmasking.confirmations;
    case ItemKind::kLeftOut:
      return &unmasking.named;
    case ItemKind::kAbstained:
      return &unmasking.abstained;
    case ItemKind::kAbstention:
    case ItemKind::kAttestation:
    case ItemKind::kCheckpoint:
    case ItemKind::kOpeningVote:
    case ItemKind::kKeyPacket:
    case ItemKind::kOperator:
      break;
  }
  return nullptr;
}

template <typename Epoch>
auto ListIn(Epoch& opened, ItemKind kind) -> decltype(&opened.attestations) {
  if (kind == ItemKind::kAttestation) return &opened.attestations;
  if (kind == ItemKind::kCheckpoint) return &opened.checkpoints;
  if (auto* const collecting = std::get_if<Collecting>(&opened.stage)) {
    if (kind == ItemKind::kAbstention) return &collecting->abstentions;
    return kind == ItemKind::kAccepted ? &collecting->accepted : nullptr;
  }
  auto* const unmasking = std::get_if<Unmasking>(&opened.stage);
  return unmasking == nullptr ? nullptr : ListInUnmasking(*unmasking, kind);
}

void Put(Submissions& submissions, const Item& item) {
  if (submissions.Find(item.member) == nullptr) submissions.Add({item.member, item.bytes});
}

void PutAll(OpenedEpoch& opened, std::span<const Item> items) {
  for (const Item& item : items) {
    if (Submissions* const list = ListIn(opened, item.kind)) Put(*list, item);
  }
}

void PutPacket(RoundState& state, const Item& packet) {
  const size_t seats = state.rules->committee().size();
  Put(state.key_packets,
      {.kind = packet.kind, .member = packet.member, .bytes = PacketDigests(packet.bytes, seats)});
}

void SetAttested(OpenedEpoch& opened, const SignedStatements& signed_ones) {
  for (const protocol::Attestation& attestation : signed_ones.attestations) {
    opened.attested.push_back({attestation.member, attestation.model_digest});
  }
}

void SetLast(RoundState& state, const AttemptRecord& record) {
  auto attempts = std::make_shared<AttemptRecords>(*state.attempts);
  attempts->back() = record;
  state.attempts = std::move(attempts);
}

void ApplyTo(RoundState& state, const BeginAttempt& begin) {
  auto attempts = std::make_shared<AttemptRecords>(*state.attempts);
  attempts->push_back(begin.record);
  state.attempts = std::move(attempts);
  std::get<OpenedEpoch>(state.epoch).stage = Collecting{.cohort = begin.cohort};
  state.extensions = 0;
}

void ApplyTo(RoundState& state, const PutItem& put) {
  if (put.item.kind == ItemKind::kOpeningVote) return Put(state.opening_votes, put.item);
  if (put.item.kind == ItemKind::kKeyPacket) return PutPacket(state, put.item);
  auto& opened = std::get<OpenedEpoch>(state.epoch);
  // A vote or an unmask share that comes later than the others.
  if (OpenAttempt(state) == nullptr && put.item.kind == ItemKind::kVote) {
    return Put(state.kept.back().votes, put.item);
  }
  if (OpenAttempt(state) == nullptr && put.item.kind == ItemKind::kUnmaskShare) {
    return Put(state.kept.back().unmask_shares, put.item);
  }
  PutAll(opened, {&put.item, 1});
}

void ApplyTo(RoundState& state, const UpdateAttempt& update) {
  auto& opened = std::get<OpenedEpoch>(state.epoch);
  if (auto* const collecting = std::get_if<Collecting>(&opened.stage);
      collecting != nullptr && update.record.phase == protocol::AttemptPhase::kUnmasking) {
    Unmasking unmasking{.cohort = std::move(collecting->cohort),
                        .accepted = std::move(collecting->accepted)};
    opened.stage = std::move(unmasking);
    state.sweep_is_due = true;
  }
  SetLast(state, update.record);
  PutAll(opened, update.items);
}

void ApplyTo(RoundState& state, const EndAttempt& end) {
  SetLast(state, end.record);
  state.sweep_is_due = true;
  auto& opened = std::get<OpenedEpoch>(state.epoch);
  auto* const unmasking = std::get_if<Unmasking>(&opened.stage);
  state.exclusions.AttemptEnded(*state.rules, end.record,
                                unmasking == nullptr ? Submissions() : unmasking->named);
  if (end.record.phase == protocol::AttemptPhase::kFailed) {
    if (end.record.failure == kTooFewGivers) {
      opened.abstentions = std::get<Collecting>(opened.stage).abstentions;
    }
    opened.stage = BetweenAttempts();
    return;
  }
  state.suspects.clear();
  state.kept.push_back({.attempt = end.record.attempt,
                        .closed_round = std::move(unmasking->closed_round),
                        .votes = std::move(unmasking->votes),
                        .unmask_shares = std::move(unmasking->unmask_shares),
                        .abstentions = std::move(unmasking->abstained)});
  if (state.kept.size() > state.rules->options().kept_rounds) state.kept.erase(state.kept.begin());
  opened = OpenedEpoch{.round = opened.round + 1};
}

Exclusions ExclusionsOf(const RoundRules& rules, const StoredRounds& stored) {
  Exclusions exclusions;
  for (const AttemptRecord& record : stored.attempts) {
    if (!HasEnded(record.phase)) continue;
    Submissions named;
    for (const NamedIn& one : stored.named) {
      if (one.at == record.attempt.number) named.Add(one.participant);
    }
    exclusions.AttemptEnded(rules, record, named);
  }
  return exclusions;
}

}  // namespace

base::Bytes PacketDigests(std::span<const uint8_t> packet, size_t seats) {
  const crypto::Digest whole = crypto::Sha256(packet);
  const crypto::Digest list = secagg::ListDigest(packet, seats);
  base::Bytes digests(whole.begin(), whole.end());
  digests.insert(digests.end(), list.begin(), list.end());
  return digests;
}

std::span<const uint8_t> PacketDigestIn(const Submission& digests) {
  return std::span(digests.bytes()).first<sizeof(crypto::Digest)>();
}

crypto::Digest ListDigestIn(const Submission& digests) {
  crypto::Digest list{};
  std::ranges::copy(std::span(digests.bytes()).last<sizeof(crypto::Digest)>(), list.begin());
  return list;
}

const AttemptRecord* OpenAttempt(const RoundState& state) {
  const AttemptRecords& attempts = *state.attempts;
  return attempts.empty() || HasEnded(attempts.back().phase) ? nullptr : &attempts.back();
}

const OpenedEpoch* Opened(const RoundState& state) {
  return std::get_if<OpenedEpoch>(&state.epoch);
}

uint32_t FinishedRounds(const RoundState& state) {
  const OpenedEpoch* const opened = Opened(state);
  return opened == nullptr ? 0 : opened->round;
}

uint32_t LastPublished(const RoundState& state) {
  if (state.attempts->empty()) return 0;
  const AttemptRecord& last = state.attempts->back();
  return last.attempt.number.round + (last.phase == protocol::AttemptPhase::kPublished ? 1 : 0);
}

secagg::AttemptNumber Beginning(const RoundState& state) {
  return {.epoch = state.rules->manifest().epoch(), .round = FinishedRounds(state), .attempt = 0};
}

secagg::AttemptNumber OpeningNumber(uint32_t epoch) {
  return {.epoch = epoch, .round = kOpeningRound, .attempt = 0};
}

bool IsPublishedLast(const RoundState& state, const secagg::Attempt& attempt) {
  return Opened(state) != nullptr && OpenAttempt(state) == nullptr && !state.kept.empty() &&
         state.kept.back().attempt == attempt && state.attempts->back().attempt == attempt;
}

const KeptRound* FindKept(const RoundState& state, const secagg::Attempt& attempt) {
  const auto kept = std::ranges::find(state.kept, attempt, &KeptRound::attempt);
  return kept == state.kept.end() ? nullptr : &*kept;
}

const Submissions& SubmissionsOf(const RoundState& state, ItemKind kind) {
  static const Submissions kNone;
  if (kind == ItemKind::kKeyPacket) return state.key_packets;
  const OpenedEpoch* const opened = Opened(state);
  if (opened == nullptr) return kNone;
  // The members that an open attempt has named are left out once it has ended.
  if (kind == ItemKind::kLeftOut) return state.exclusions.now();
  const Submissions* const list = ListIn(*opened, kind);
  return list == nullptr ? kNone : *list;
}

const Submission* Find(const RoundState& state, ItemKind kind, uint64_t member) {
  return SubmissionsOf(state, kind).Find(member);
}

bool IsLeftOut(const RoundState& state, uint64_t member) {
  return Find(state, ItemKind::kLeftOut, member) != nullptr;
}

const std::vector<uint64_t>& CohortOf(const RoundState& state) {
  static const std::vector<uint64_t> kNone;
  if (const auto* const collecting = StageOf<Collecting>(state)) return collecting->cohort;
  const auto* const unmasking = StageOf<Unmasking>(state);
  return unmasking == nullptr ? kNone : unmasking->cohort;
}

uint64_t MayUpload(const RoundState& state) {
  return state.rules->members() - SubmissionsOf(state, ItemKind::kLeftOut).size();
}

uint64_t MayGive(const RoundState& state) {
  const Submissions& abstentions = SubmissionsOf(state, ItemKind::kAbstention);
  const auto abstain = std::ranges::count_if(
      abstentions, [&state](const Submission& one) { return !IsLeftOut(state, one.member); });
  return MayUpload(state) - static_cast<uint64_t>(abstain);
}

const Submissions* AbstentionsOf(const RoundState& state, const secagg::Attempt& attempt) {
  if (const KeptRound* const kept = FindKept(state, attempt)) return &kept->abstentions;
  const OpenedEpoch* const opened = Opened(state);
  if (opened == nullptr || OpenAttempt(state) != nullptr || state.attempts->empty()) return nullptr;
  const AttemptRecord& last = state.attempts->back();
  const bool is_it = last.attempt == attempt && last.failure == kTooFewGivers;
  return is_it ? &opened->abstentions : nullptr;
}

bool IsInvited(const RoundState& state, uint64_t member) {
  const auto* const collecting = StageOf<Collecting>(state);
  if (collecting == nullptr) return false;
  return state.rules->DrawsCohorts() ? std::ranges::binary_search(collecting->cohort, member)
                                     : !IsLeftOut(state, member);
}

std::optional<crypto::Digest> StatedModel(const RoundState& state) {
  const OpenedEpoch* const opened = Opened(state);
  if (opened == nullptr) return std::nullopt;
  const bool is_initial = opened->round == 0;
  std::map<crypto::Digest, size_t> supporters;
  for (const auto& [member, model] : opened->attested) {
    if (!is_initial || state.rules->HasSeat(member)) ++supporters[model];
  }
  const auto most =
      std::ranges::max_element(supporters, {}, [](const auto& s) { return s.second; });
  const size_t quorum = is_initial ? state.rules->VoteQuorum() : state.rules->FinalQuorum();
  if (most == supporters.end() || most->second < quorum) return std::nullopt;
  return most->first;
}

BlobKey BlobKeyOf(const protocol::BulkName& name, uint64_t member) {
  BlobKey key{.name = name, .member = member};
  if (name.kind == protocol::BulkKind::kCheckpoint) key.name.attempt.model_digest = {};
  return key;
}

std::span<const ItemKind> ForgottenAt(protocol::AttemptPhase end) {
  if (end == protocol::AttemptPhase::kPublished) return kForgottenOfPublished;
  return kForgottenOfFailed;
}

void Apply(RoundState& state, const Change& change) {
  std::visit([&state](const auto& one) { ApplyTo(state, one); }, change);
}

void Replace(RoundState& state, const StoredRounds& stored, const SignedStatements& signed_ones) {
  state.attempts = std::make_shared<const AttemptRecords>(stored.attempts);
  state.kept = stored.kept;
  state.opening_votes = stored.opening_votes;
  state.key_packets = stored.key_packets;
  state.sweep_is_due = false;
  state.next_check = 0;
  state.exclusions = ExclusionsOf(*state.rules, stored);
  if (!stored.is_opened) {
    if (!std::holds_alternative<OpeningEpoch>(state.epoch)) {
      state.epoch =
          OpeningEpoch{.tally = protocol::OpeningTally(state.rules->manifest().manifest())};
    }
    auto& opening = std::get<OpeningEpoch>(state.epoch);
    for (const protocol::OpeningStatement& vote : signed_ones.votes) opening.tally.Add(vote);
    return;
  }
  OpenedEpoch opened{.round = LastPublished(state)};
  if (const AttemptRecord* const open = OpenAttempt(state)) {
    if (open->phase == protocol::AttemptPhase::kCollecting) {
      opened.stage = Collecting{.cohort = stored.cohort};
    } else {
      opened.stage = Unmasking{.cohort = stored.cohort};
    }
  }
  PutAll(opened, stored.of_attempt);
  PutAll(opened, stored.of_beginning);
  for (const Item& item : stored.abstentions) Put(opened.abstentions, item);
  SetAttested(opened, signed_ones);
  // Parts of uploads that were on their way stay.
  state.sweep_is_due = !std::holds_alternative<Collecting>(opened.stage);
  state.epoch = std::move(opened);
}

void OpenAt(RoundState& state, uint32_t round, std::span<const Item> of_beginning,
            const SignedStatements& signed_ones) {
  OpenedEpoch opened{.round = round};
  PutAll(opened, of_beginning);
  SetAttested(opened, signed_ones);
  state.epoch = std::move(opened);
  state.sweep_is_due = true;
}

}  // namespace tacet::server
