#include "tacet/member/attestors.h"

#include <algorithm>
#include <map>
#include <set>

#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/secagg/attempt_keys.h"

namespace tacet::member {
namespace {

std::vector<uint64_t> ChosenFor(const agreement::SignedManifest& manifest,
                                const crypto::SecretBytes& epoch_key,
                                const secagg::Attempt& attempt) {
  const agreement::ManifestSpec& spec = manifest.manifest().spec();
  return secagg::ChooseOpeners(epoch_key, spec.scheme, attempt, spec.sampling.clients,
                               spec.openers);
}

}  // namespace

std::vector<secagg::OpenerIdentity> OpenersOf(const agreement::SignedManifest& manifest,
                                              const crypto::SecretBytes& epoch_key,
                                              const secagg::Attempt& attempt) {
  std::vector<secagg::OpenerIdentity> openers;
  for (const uint64_t member : ChosenFor(manifest, epoch_key, attempt)) {
    openers.push_back(manifest.manifest().Identity(member));
  }
  return openers;
}

std::vector<uint64_t> AttestorsOf(const agreement::SignedManifest& manifest,
                                  const crypto::SecretBytes& epoch_key, uint32_t round) {
  return ChosenFor(manifest, epoch_key,
                   protocol::RoundStart(manifest.manifest(), manifest.epoch(), round));
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
    if (++supporters[state] >= secagg::Majority(attestors.size())) return state;
  }
  return std::nullopt;
}

}  // namespace tacet::member
