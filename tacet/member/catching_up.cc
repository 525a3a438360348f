#include "tacet/member/catching_up.h"

#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/member/attestors.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/result_collector.h"

namespace tacet::member {
namespace {

// A server may hand out more objects than there are openers, since it cannot tell theirs from what
// another member sent; it is not asked for more than this.
constexpr uint32_t kMaxObjects = 64;

// Gives `take` one object after the other until it has enough: a Suspicion says what is wrong with
// one. True when it had enough.
template <typename Take>
absl::StatusOr<bool> FetchUntil(const MemberParts& parts, MemberNotes& notes,
                                const protocol::BulkName& name, uint64_t most_bytes,
                                std::string_view alarm, Take take) {
  for (uint32_t index = 0; index < kMaxObjects; ++index) {
    const absl::StatusOr<base::Bytes> object = parts.server.Fetch(name, index, most_bytes);
    absl::Status judged = object.status();
    if (object.ok()) {
      absl::StatusOr<bool> enough = take(*object);
      if (enough.ok() && *enough) return true;
      judged = enough.status();
    } else if (protocol::IsRetryable(judged)) {
      return judged;
    } else if (judged.code() != absl::StatusCode::kDataLoss) {
      return false;  // there are no more
    }
    if (judged.ok()) continue;
    TACET_RETURN_IF_ERROR(
        notes.Violation({alarm, fmt::format("number {}: {}", index, base::Message(judged))},
                        name.attempt.number, index));
  }
  return false;
}

}  // namespace

absl::StatusOr<std::optional<secagg::OpenedSum>> FetchAgreedSum(const MemberParts& parts,
                                                                MemberNotes& notes,
                                                                const secagg::Attempt& attempt) {
  const he::AggregationParams& params = parts.manifest.manifest().terms().aggregation();
  const secagg::AttemptKeys keys =
      secagg::DeriveAttemptKeys(parts.epoch_key, params.scheme(), attempt);
  secagg::ResultCollector collector(
      params, attempt, OpenersOf(parts.manifest, parts.epoch_key, attempt), keys.result_key);
  const auto take = [&](const base::Bytes& sum) -> absl::StatusOr<bool> {
    TACET_RETURN_IF_ERROR(collector.Offer(sum));
    return collector.agreed().has_value();
  };
  TACET_RETURN_IF_ERROR(FetchUntil(parts, notes,
                                   {.kind = protocol::BulkKind::kOpenedSum, .attempt = attempt},
                                   secagg::OpenedSumBytes(params), violations::kBadSum, take)
                            .status());
  return collector.agreed();
}

absl::StatusOr<std::optional<protocol::Checkpoint>> FetchWitnessedState(const MemberParts& parts,
                                                                        MemberNotes& notes,
                                                                        uint32_t round) {
  const agreement::Manifest& manifest = parts.manifest.manifest();
  const absl::StatusOr<std::vector<base::Bytes>> statements = parts.server.FetchAttestations(round);
  if (!statements.ok()) {
    if (protocol::IsRetryable(statements.status())) return statements.status();
    return std::nullopt;
  }
  const std::optional<AttestedState> witnessed = MajorityOf(
      *statements, parts.manifest, AttestorsOf(parts.manifest, parts.epoch_key, round), round);
  if (!witnessed.has_value()) return std::nullopt;
  const secagg::Attempt start =
      protocol::RoundStart(manifest, parts.manifest.epoch(), round, witnessed->model_digest);
  std::optional<protocol::Checkpoint> found;
  const auto take = [&](const base::Bytes& sealed) -> absl::StatusOr<bool> {
    TACET_ASSIGN_OR_RETURN(
        protocol::Checkpoint checkpoint,
        protocol::OpenEncryptedCheckpoint(sealed, manifest, start, parts.epoch_key));
    if (protocol::StateDigest(checkpoint) != witnessed->state_digest) {
      return base::DataLoss(
          "the optimiser's state is not the one that a majority of the attestors attests");
    }
    found = std::move(checkpoint);
    return true;
  };
  TACET_RETURN_IF_ERROR(FetchUntil(parts, notes,
                                   {.kind = protocol::BulkKind::kCheckpoint, .attempt = start},
                                   protocol::EncryptedCheckpointBytes(manifest.spec().dimension),
                                   violations::kBadCheckpoint, take)
                            .status());
  return found;
}

}  // namespace tacet::member
