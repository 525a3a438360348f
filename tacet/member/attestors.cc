#include "tacet/member/attestors.h"

#include <algorithm>
#include <map>
#include <set>

namespace tacet::member {

std::vector<uint64_t> AttestorsOf(const agreement::SignedManifest& manifest) {
  return manifest.manifest().spec().committee_members;
}

std::vector<protocol::Attestation> ReadableAttestations(std::span<const base::Bytes> attestations,
                                                        const agreement::SignedManifest& manifest) {
  std::vector<protocol::Attestation> readable;
  for (const base::Bytes& bytes : attestations) {
    const auto attestation = protocol::ReadAttestation(bytes, manifest);
    if (attestation.ok()) readable.push_back(*attestation);
  }
  return readable;
}

std::optional<AttestedState> MajorityOf(std::span<const protocol::Attestation> attestations,
                                        const agreement::SignedManifest& manifest,
                                        std::span<const uint64_t> attestors, uint32_t round) {
  const size_t quorum = protocol::StateQuorum(manifest.manifest());
  std::set<uint64_t> heard;
  std::map<AttestedState, size_t> supporters;
  for (const protocol::Attestation& attestation : attestations) {
    if (attestation.round != round ||
        std::ranges::find(attestors, attestation.member) == attestors.end() ||
        !heard.insert(attestation.member).second) {
      continue;
    }
    const AttestedState state{attestation.model_digest, attestation.state_digest};
    if (++supporters[state] >= quorum) return state;
  }
  return std::nullopt;
}

}  // namespace tacet::member
