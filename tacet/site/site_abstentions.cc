#include "tacet/site/site_abstentions.h"

#include <algorithm>

#include "fmt/core.h"

#include "tacet/agreement/epoch_chain.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/run/run_output.h"

namespace tacet::site {

std::span<const agreement::MemberIdentity> MembersUnder(const storage::file::Membership& membership,
                                                        const crypto::Digest& hash) {
  const std::span<const agreement::EpochLink> earlier = membership.earlier();
  const auto epoch = std::ranges::find(earlier, hash, &agreement::EpochLink::hash);
  return epoch == earlier.end() ? membership.manifest.manifest().spec().members
                                : epoch->agreed.members;
}

// Abstentions from attempts at `round` and later ones. They are in order.
absl::Status SiteAbstentions::Forget(uint32_t round) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                         directory_.ReadLines(run::kAbstentionsFile));
  size_t kept = lines.size();
  for (; kept > 0; --kept) {
    const absl::StatusOr<base::Bytes> bytes = base::FromHex(lines[kept - 1]);
    if (!bytes.ok()) continue;  // it is damaged
    const absl::StatusOr<crypto::Digest> hash = protocol::ManifestOfAbstention(*bytes);
    if (!hash.ok()) continue;
    const auto abstention =
        protocol::ReadAbstention(*bytes, *hash, MembersUnder(membership_, *hash));
    if (!abstention.ok() || abstention->attempt.number.round < round) break;
  }
  return directory_.KeepLines(run::kAbstentionsFile, kept);
}

absl::Status SiteAbstentions::Keep(std::span<const protocol::SignedAbstention> abstentions) {
  for (const protocol::SignedAbstention& one : abstentions) {
    TACET_RETURN_IF_ERROR(directory_.AppendLine(run::kAbstentionsFile, base::ToHex(one.bytes)));
  }
  return absl::OkStatus();
}

// An earlier process may have written them down.
absl::StatusOr<std::vector<run::MissingSite>> SiteAbstentions::Missing() const {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                         directory_.ReadLines(run::kAbstentionsFile));
  std::vector<run::MissingSite> missing;
  for (const std::string& line : lines) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, base::FromHex(line));
    TACET_ASSIGN_OR_RETURN(const protocol::Abstention said,
                           protocol::ReadAbstention(bytes, membership_.manifest));
    missing.push_back({.member = said.member,
                       .name = membership_.manifest.members()[said.member].name,
                       .cause = std::string(protocol::AbstentionReasonName(said.reason))});
  }
  return missing;
}

absl::StatusOr<std::string> SiteAbstentions::WhyStopped(const member::MemberSession& session) {
  const agreement::Manifest& manifest = membership_.manifest.manifest();
  std::string why = fmt::format("the server began no attempt after round {} of {}",
                                session.next_round(), manifest.spec().rounds);
  const auto abstentions = session.FetchAbstentions();
  if (!abstentions.ok() || abstentions->empty()) return why;
  const size_t willing = manifest.spec().members.size() - abstentions->size();
  if (willing >= protocol::MinGivers(manifest)) return why;
  TACET_RETURN_IF_ERROR(Keep(*abstentions));
  return fmt::format(
      "too few sites give data after round {} of {}: {} allow no further attempt, {} of {} sites "
      "are left, and at least {} must give data",
      session.next_round(), manifest.spec().rounds,
      protocol::AbstainersInWords(*abstentions, membership_.manifest), willing,
      manifest.spec().members.size(), protocol::MinGivers(manifest));
}

}  // namespace tacet::site
