#include "tacet/member/attestors.h"

#include <algorithm>
#include <map>
#include <set>

namespace tacet::member {

std::vector<uint64_t> AttestorsOf(const agreement::SignedManifest& manifest) {
  return manifest.manifest().spec().committee_members;
}

std::optional<AttestedState> MajorityOf(std::span<const base::Bytes> statements,
                                        const agreement::SignedManifest& manifest,
                                        std::span<const uint64_t> attestors, uint32_t round) {
  std::set<uint64_t> heard;
  std::map<AttestedState, size_t> supporters;
  for (const base::Bytes& bytes : statements) {
    const absl::StatusOr<protocol::Attestation> statement =
        protocol::ReadAttestation(bytes, manifest);
    if (!statement.ok() || statement->round != round ||
        std::ranges::find(attestors, statement->member) == attestors.end() ||
        !heard.insert(statement->member).second) {
      continue;
    }
    const AttestedState state{statement->model_digest, statement->state_digest};
    if (++supporters[state] >= attestors.size() / 2 + 1) return state;
  }
  return std::nullopt;
}

}  // namespace tacet::member
