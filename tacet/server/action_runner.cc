#include "tacet/server/action_runner.h"

#include <utility>

#include "tacet/agreement/cohort.h"
#include "tacet/base/status.h"
#include "tacet/server/wrong_shares.h"

namespace tacet::server {

// One action.
struct ActionRunner::Running {
  ActionRunner& runner;
  std::span<const BlobKey> arriving;

  using Result = absl::StatusOr<std::optional<Event>>;

  Result Make(const Change& change) const {
    TACET_RETURN_IF_ERROR(runner.store_.Make(change));
    return std::nullopt;
  }

  // Uploads are read when they are added. An object that the disk fails to read now is not lost:
  // that may pass, and no deadline waits for it.
  bool IsThere(const StoredObject& object, bool read) const {
    if (!read || object.key.name.kind == protocol::BulkKind::kUpload) {
      return runner.blobs_.Holds(object.key, object.digest).value_or(true);
    }
    const absl::Status found = runner.blobs_.Read(object.key, object.digest).status();
    return found.ok() || found.code() == absl::StatusCode::kUnavailable;
  }

  Result operator()(const BeginAttempt& begin) const { return Make(begin); }
  Result operator()(const PutItem& put) const { return Make(put); }
  Result operator()(const UpdateAttempt& update) const {
    TACET_RETURN_IF_ERROR(runner.store_.Make(update));
    if (update.record.phase != protocol::AttemptPhase::kCollecting) runner.sum_.Forget();
    return std::nullopt;
  }
  Result operator()(const EndAttempt& end) const {
    TACET_RETURN_IF_ERROR(runner.store_.Make(end));
    runner.sum_.Forget();
    return std::nullopt;
  }
  Result operator()(const DrawCohort& draw) const {
    const accounting::SamplingParams& sampling = runner.manifest_.manifest().spec().sampling;
    crypto::Random random = crypto::Random::FromEntropy(runner.entropy_);
    return CohortDrawn{
        .attempt = draw.attempt,
        .cohort = agreement::DrawCohort(*sampling.method, sampling.clients, draw.size, random)};
  }
  Result operator()(const MakeSum& make) const {
    TACET_ASSIGN_OR_RETURN(std::vector<uint64_t> lost, runner.sum_.Make(make));
    if (lost.empty()) return std::nullopt;
    return UploadsLost{.members = std::move(lost)};
  }
  Result operator()(const AddUpload& add) const {
    TACET_RETURN_IF_ERROR(runner.sum_.Add(add));
    return std::nullopt;
  }
  // If this fails, the sum is closed again.
  Result operator()(const CloseSum& close) const {
    TACET_ASSIGN_OR_RETURN(const UploadSum::Closed sum, runner.sum_.Close(close, runner.entropy_));
    SumClosed closed{.participants = sum.participants, .shares = std::nullopt};
    const auto put = [&](protocol::BulkKind kind, std::span<const uint8_t> bytes) {
      return runner.store_.PutObject({kind, close.attempt}, bytes);
    };
    TACET_ASSIGN_OR_RETURN(closed.closed_round,
                           put(protocol::BulkKind::kClosedRound, sum.messages.closed_round));
    TACET_ASSIGN_OR_RETURN(closed.roster, put(protocol::BulkKind::kRoster, sum.messages.roster));
    TACET_ASSIGN_OR_RETURN(closed.shares,
                           runner.sum_.StoreShares(close.attempt, sum.messages.roster));
    return closed;
  }
  Result operator()(const CheckShares& check) const {
    return FindWrongShares(runner.manifest_.manifest(), runner.blobs_, check);
  }
  Result operator()(const CheckObjects& check) const {
    ObjectsChecked checked;
    for (const StoredObject& object : check.objects) {
      if (!IsThere(object, check.read)) checked.lost.push_back(object);
    }
    // Damaged ones are forgotten.
    for (const StoredObject& object : check.earlier) (void)IsThere(object, true);
    return checked;
  }
  Result operator()(const RestoreObject& restore) const {
    TACET_RETURN_IF_ERROR(runner.store_.PutObject(restore.name, restore.whole).status());
    return std::nullopt;
  }
  Result operator()(const ReadBeginning& read) const {
    BeginningRead beginning{.round = read.at.round, .items = {}, .signed_ones = {}};
    TACET_ASSIGN_OR_RETURN(beginning.items, runner.store_.ReadBeginning(read.at));
    beginning.signed_ones = ReadStatements(runner.manifest_, beginning.items, {});
    return beginning;
  }
  Result operator()(const Sweep& sweep) const {
    TACET_RETURN_IF_ERROR(runner.store_.Clean(sweep, arriving));
    return std::nullopt;
  }
};

absl::StatusOr<StoreRead> ActionRunner::Read() {
  TACET_ASSIGN_OR_RETURN(StoredRounds stored, store_.Read());
  SignedStatements signed_ones =
      ReadStatements(manifest_, stored.of_beginning, stored.opening_votes);
  return StoreRead{.stored = std::move(stored), .signed_ones = std::move(signed_ones)};
}

absl::StatusOr<std::optional<Event>> ActionRunner::Run(const Action& action,
                                                       std::span<const BlobKey> arriving) {
  return std::visit(Running{*this, arriving}, action);
}

}  // namespace tacet::server
