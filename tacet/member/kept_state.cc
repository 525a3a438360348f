#include "tacet/member/kept_state.h"

#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/journal.h"

namespace tacet::member {
namespace {

NodeEvent LostNote(std::optional<secagg::AttemptNumber> attempt, std::string text) {
  return {.kind = NodeEventKind::kNote,
          .what = "state-lost",
          .attempt = attempt,
          .text = std::move(text)};
}

absl::Status LoadMemory(const MemberState& state, KeptState& kept) {
  const absl::StatusOr<base::Bytes> bytes = state.LoadMemory();
  if (bytes.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(bytes.status());
  absl::StatusOr<MemberMemory> memory = ReadMemberMemory(*bytes);
  if (memory.ok()) {
    kept.memory = *std::move(memory);
    return absl::OkStatus();
  }
  if (memory.status().code() != absl::StatusCode::kDataLoss) return memory.status();
  kept.notes.push_back(LostNote(std::nullopt, base::Message(memory.status())));
  return absl::OkStatus();
}

// The state continues under a later epoch or the same manifest. An older manifest would lead back
// to members that were removed.
absl::Status CheckEpoch(const agreement::SignedManifest& manifest, const MemberMemory& memory) {
  const uint32_t epoch = memory.attempt.number.epoch;
  const crypto::Digest& hash = memory.attempt.manifest_hash;
  if (epoch > manifest.epoch()) {
    return base::FailedPrecondition(
        "this site has taken part in epoch {} of {}, and the manifest is of epoch {}: join the "
        "latest epoch with its invitation (tacet client join)",
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

bool IsMissing(const absl::Status& found) { return found.code() == absl::StatusCode::kNotFound; }
bool IsDamaged(const absl::Status& found) { return found.code() == absl::StatusCode::kDataLoss; }

// An update is sealed after its attempt was charged, or after the charge was refused. A ledger that
// knows of neither is older than the state.
absl::Status CheckLedgerKnows(const MemberParts& parts, const MemberMemory& memory,
                              const absl::Status& upload) {
  if (memory.participation != Participation::kYes || IsMissing(upload)) return absl::OkStatus();
  const secagg::Attempt& attempt = memory.attempt;
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

// Answers of the remembered attempt. One that cannot be read was given, and may not be given again
// in other words.
absl::Status CheckAnswers(const MemberParts& parts, KeptState& kept) {
  const MemberMemory& memory = *kept.memory;
  const absl::Status upload = parts.state.LoadUpload(memory.attempt).status();
  TACET_RETURN_IF_ERROR(CheckLedgerKnows(parts, memory, upload));
  bool is_lost = IsMissing(upload) && memory.accepted;
  for (const absl::Status& found :
       {upload, parts.state.Find(memory.attempt, secagg::JournalStep::kVote).status(),
        parts.state.Find(memory.attempt, secagg::JournalStep::kUnmaskShare).status()}) {
    if (!IsMissing(found) && !IsDamaged(found)) TACET_RETURN_IF_ERROR(found);
    is_lost |= IsDamaged(found);
  }
  if (is_lost) kept.past.doubted.push_back(memory.attempt.number);
  return absl::OkStatus();
}

// Every attempt is remembered before it is charged.
void FindForgotten(const MemberParts& parts, KeptState& kept) {
  const crypto::Digest& hash = parts.manifest.manifest().hash();
  std::optional<secagg::AttemptNumber> last;
  const auto see = [&](const ledger::ChargeLabel& label) {
    if (label.manifest_hash == hash && (!last.has_value() || *last < label.number)) {
      last = label.number;
    }
  };
  for (const ledger::LedgerEntry& entry : parts.ledger.entries()) see(entry.label);
  for (const ledger::LedgerRefusal& refusal : parts.ledger.refusals()) see(refusal.label);
  if (!last.has_value()) return;
  if (!kept.memory.has_value() || kept.memory->attempt.number < *last) {
    kept.past.doubted.push_back(*last);
  }
  kept.forgets_model = !kept.memory.has_value() && !parts.manifest.begins_training();
}

bool IsSameWord(const absl::StatusOr<base::Bytes>& kept, const crypto::Digest& anchored) {
  return kept.ok() && crypto::Sha256(*kept) == anchored;
}

// The seat has spoken where this anchor was not. An anchor hears of an attempt before the memory.
bool IsBehind(const SeatWords& words, const MemberMemory& memory) {
  return words.attempt == secagg::Attempt{} || words.attempt.number < memory.attempt.number;
}

// The greatest one that is less.
std::optional<secagg::AttemptNumber> NumberBefore(secagg::AttemptNumber number) {
  if (number.attempt-- == 0 && number.round-- == 0 && number.epoch-- == 0) return std::nullopt;
  return number;
}

// A state that lacks words of the anchor is an older one, or lost them. An anchor that lacks the
// attempt of the memory counts as none.
absl::Status CompareWithAnchor(const MemberParts& parts, KeptState& kept) {
  if (parts.anchor == nullptr ||
      !secagg::SeatOf(parts.manifest.manifest().committee(), parts.member).has_value()) {
    return absl::OkStatus();
  }
  TACET_ASSIGN_OR_RETURN(const std::optional<SeatWords> words, parts.anchor->Load());
  const auto find = [&](secagg::JournalStep step) {
    return parts.state.Find(kept.memory->attempt, step);
  };
  if (!words.has_value() || (kept.memory.has_value() && IsBehind(*words, *kept.memory))) {
    kept.past.unanchored = true;
    kept.past.has_vote = kept.memory.has_value() && find(secagg::JournalStep::kVote).ok();
    return absl::OkStatus();
  }
  if (words->attempt == secagg::Attempt{}) return absl::OkStatus();
  const bool is_same = kept.memory.has_value() && kept.memory->attempt == words->attempt;
  const bool has_words = words->progress >= SeatProgress::kVoted;
  const bool knows = is_same && words->progress != SeatProgress::kSilent &&
                     (!has_words || IsSameWord(find(secagg::JournalStep::kVote), words->vote)) &&
                     (words->progress != SeatProgress::kUnmasked ||
                      IsSameWord(find(secagg::JournalStep::kUnmaskShare), words->share));
  if (knows) return absl::OkStatus();
  // A process that ended between the anchor and the memory has said nothing in the attempt.
  kept.past.silent_through = words->progress == SeatProgress::kNothing
                                 ? NumberBefore(words->attempt.number)
                                 : words->attempt.number;
  return absl::OkStatus();
}

uint32_t ParticipationsIn(const MemberParts& parts) {
  return static_cast<uint32_t>(
      std::ranges::count_if(parts.ledger.entries(), [&](const ledger::LedgerEntry& entry) {
        return entry.kind == ledger::ChargeKind::kSealing &&
               ledger::IsOfTraining(entry, parts.manifest.manifest().federation(),
                                    parts.manifest.training());
      }));
}

}  // namespace

absl::StatusOr<KeptState> ReadKeptState(const MemberParts& parts) {
  KeptState kept;
  TACET_RETURN_IF_ERROR(LoadMemory(parts.state, kept));
  if (kept.memory.has_value()) {
    TACET_RETURN_IF_ERROR(CheckEpoch(parts.manifest, *kept.memory));
    TACET_RETURN_IF_ERROR(CheckAnswers(parts, kept));
  }
  FindForgotten(parts, kept);
  for (const secagg::AttemptNumber& number : kept.past.doubted) {
    kept.notes.push_back(
        LostNote(number,
                 "this site's state does not have what it may have said in this attempt: "
                 "it says nothing more in it"));
  }
  if (parts.manifest.manifest().spec().sampling.max_participations != 0) {
    kept.past.participations = ParticipationsIn(parts);
  }
  // A member's memory of an earlier training of the federation says nothing about this one.
  if (kept.memory.has_value() && kept.memory->attempt.number.epoch < parts.manifest.training()) {
    kept.memory.reset();
  }
  TACET_RETURN_IF_ERROR(CompareWithAnchor(parts, kept));
  return kept;
}

}  // namespace tacet::member
