#include "tacet/secagg/taken_lists.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr size_t kTakenBytes = 8 + sizeof(crypto::Digest);  // of a member
// A journal with more damaged entries in a row than this is broken.
constexpr uint32_t kMostDamaged = 1000;

}  // namespace

absl::StatusOr<TakenLists> TakenLists::Read(const Journal& journal, const Attempt& attempt) {
  TakenLists taken({.manifest_hash = attempt.manifest_hash,
                    .number = {.epoch = attempt.number.epoch, .round = kRoundOfEpoch},
                    .model_digest = {}});
  for (uint32_t damaged = 0;; ++taken.next_.number.attempt) {
    const absl::StatusOr<base::Bytes> entry = journal.Find(taken.next_, JournalStep::kLists);
    if (entry.status().code() == absl::StatusCode::kNotFound) return taken;
    const bool is_cut = entry.ok() && (entry->empty() || entry->size() % kTakenBytes != 0);
    if (is_cut || entry.status().code() == absl::StatusCode::kDataLoss) {
      if (++damaged <= kMostDamaged) continue;
      return base::DataLoss("the seat's journal has {} damaged entries of lists one after another",
                            damaged);
    }
    TACET_RETURN_IF_ERROR(entry.status());
    damaged = 0;
    base::ByteReader reader(*entry, "lists of key packets");
    while (reader.remaining() > 0) {
      TACET_ASSIGN_OR_RETURN(const uint64_t member, reader.ReadU64("member"));
      TACET_ASSIGN_OR_RETURN(taken.lists_[member], ReadArray<32>(reader, "list"));
    }
  }
}

absl::Status TakenLists::Check(const Roster& roster) const {
  for (size_t i = 0; i < roster.members.size(); ++i) {
    const auto taken = lists_.find(roster.members[i]);
    if (taken == lists_.end() || taken->second == roster.lists[i]) continue;
    return base::FailedPrecondition(
        "the roster has another key packet of member {} than this seat took before: the member "
        "signed two, or the server lies",
        roster.members[i]);
  }
  return absl::OkStatus();
}

absl::Status TakenLists::Take(const Roster& roster, Journal& journal) {
  base::ByteWriter entry;
  for (size_t i = 0; i < roster.members.size(); ++i) {
    if (!lists_.try_emplace(roster.members[i], roster.lists[i]).second) continue;
    entry.U64(roster.members[i]);
    entry.Raw(roster.lists[i]);
  }
  if (entry.bytes().empty()) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(journal.Record(next_, JournalStep::kLists, entry.bytes()));
  ++next_.number.attempt;
  return absl::OkStatus();
}

}  // namespace tacet::secagg
