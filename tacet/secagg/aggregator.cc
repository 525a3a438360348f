#include "tacet/secagg/aggregator.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/he/aggregated_ciphertext.h"
#include "tacet/secagg/closed_round.h"

namespace tacet::secagg {

Aggregator::Aggregator(const he::AggregationParams& params, const Attempt& attempt,
                       uint32_t min_participants, size_t tasks, base::ParallelFor run)
    : params_(params),
      attempt_(attempt),
      min_participants_(min_participants),
      adder_(he::NewAdder(params, tasks, std::move(run))) {}

absl::Status Aggregator::Submit(uint64_t participant, std::span<const uint8_t> upload) {
  const Submission submission{.participant = participant, .upload = upload};
  return SubmitEach({&submission, 1}).front();
}

absl::Status Aggregator::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return base::FailedPrecondition("round {} attempt {} is closed", attempt_.number.round,
                                  attempt_.number.attempt);
}

absl::StatusOr<std::optional<UploadView>> Aggregator::ReadNew(const Submission& submission) const {
  TACET_RETURN_IF_ERROR(CheckOpen());
  TACET_ASSIGN_OR_RETURN(const UploadView view,
                         ReadUploadFields(submission.upload, attempt_, params_));
  if (const auto before = accepted_.find(submission.participant); before != accepted_.end()) {
    TACET_RETURN_IF_ERROR(CheckCiphertextWords(view));
    if (before->second == Accepted(view)) return std::nullopt;
    return base::AlreadyExists(
        "the participant has already sent another upload for round {} attempt {}",
        attempt_.number.round, attempt_.number.attempt);
  }
  if (sender_of_nonce_.contains(view.nonce)) {
    return base::AlreadyExists("field `nonce` of the upload was used by another upload");
  }
  if (count() >= params_.max_participants()) {
    return base::FailedPrecondition("round {} attempt {} already has its {} uploads",
                                    attempt_.number.round, attempt_.number.attempt,
                                    params_.max_participants());
  }
  return view;
}

std::vector<absl::Status> Aggregator::SubmitEach(std::span<const Submission> submissions) {
  std::vector<absl::Status> results(submissions.size());
  std::vector<UploadView> views;
  std::vector<size_t> places;  // of the views among the submissions
  const auto add_views = [&] {
    std::vector<he::Contribution> contributions;
    for (const UploadView& view : views) {
      contributions.push_back({.ciphertext = view.ciphertext, .announced = view.ciphertext_sums});
    }
    std::vector<absl::Status> added(views.size());
    adder_->AddEach(contributions, added);
    for (size_t i = 0; i < views.size(); ++i) {
      results[places[i]] = added[i];
      if (!added[i].ok()) continue;
      const uint64_t participant = submissions[places[i]].participant;
      accepted_.emplace(participant, Accepted(views[i]));
      sender_of_nonce_.emplace(views[i].nonce, participant);
    }
    views.clear();
    places.clear();
  };
  // The fate of a submission may depend on one that is not added yet.
  const auto depends_on_waiting = [&](const Submission& submission, const UploadView& view) {
    if (count() + views.size() >= params_.max_participants()) return true;
    for (size_t i = 0; i < views.size(); ++i) {
      if (submissions[places[i]].participant == submission.participant) return true;
      if (views[i].nonce == view.nonce) return true;
    }
    return false;
  };
  for (size_t i = 0; i < submissions.size(); ++i) {
    absl::StatusOr<std::optional<UploadView>> view = ReadNew(submissions[i]);
    if (view.ok() && view->has_value() && depends_on_waiting(submissions[i], **view)) {
      add_views();
      view = ReadNew(submissions[i]);
    }
    results[i] = view.status();
    if (!view.ok() || !view->has_value()) continue;
    views.push_back(**view);
    places.push_back(i);
  }
  add_views();
  return results;
}

absl::Status Aggregator::CheckNew(const AddedUpload& upload) const {
  if (accepted_.contains(upload.participant)) {
    return base::AlreadyExists(
        "a partial sum of round {} attempt {} holds an upload of a participant that is in the sum "
        "already",
        attempt_.number.round, attempt_.number.attempt);
  }
  if (sender_of_nonce_.contains(upload.nonce)) {
    return base::AlreadyExists(
        "a partial sum of round {} attempt {} holds a nonce that another upload used",
        attempt_.number.round, attempt_.number.attempt);
  }
  return absl::OkStatus();
}

absl::Status Aggregator::Merge(std::span<const uint8_t> partial_sum) {
  TACET_RETURN_IF_ERROR(CheckOpen());
  TACET_ASSIGN_OR_RETURN(const PartialSum other, ReadPartialSum(partial_sum, attempt_, params_));
  if (count() + other.uploads.size() > params_.max_participants()) {
    return base::FailedPrecondition(
        "round {} attempt {} would have {} uploads with this partial sum, at most {} are allowed",
        attempt_.number.round, attempt_.number.attempt, count() + other.uploads.size(),
        params_.max_participants());
  }
  std::set<SealNonce> nonces;
  for (const AddedUpload& upload : other.uploads) {
    TACET_RETURN_IF_ERROR(CheckNew(upload));
    if (!nonces.insert(upload.nonce).second) {
      return base::DataLoss("partial sum: field `nonce` is the same in two uploads");
    }
  }
  if (merged_.empty()) merged_.resize(params_.aggregated_ciphertext_bytes());  // zeros: of nothing
  TACET_RETURN_IF_ERROR(he::AddAggregatedCiphertext(params_, other.aggregated_ciphertext, merged_));
  for (const AddedUpload& upload : other.uploads) {
    accepted_.emplace(upload.participant, std::nullopt);
    sender_of_nonce_.emplace(upload.nonce, upload.participant);
  }
  return absl::OkStatus();
}

void Aggregator::WriteAggregatedCiphertext(std::span<uint8_t> sum) const {
  adder_->CloseInto(sum);
  // Both are ours, and checked.
  if (!merged_.empty() && !he::AddAggregatedCiphertext(params_, merged_, sum).ok()) std::abort();
}

absl::StatusOr<Aggregator::Closed> Aggregator::Close(
    crypto::Entropy& entropy, const std::function<crypto::Digest(uint64_t member)>& list_of,
    const std::function<uint64_t(uint64_t)>& member_of) {
  if (count() < min_participants_) {
    return base::FailedPrecondition(
        "round {} attempt {} has {} uploads, {} are needed: it is not decrypted",
        attempt_.number.round, attempt_.number.attempt, count(), min_participants_);
  }
  closed_ = true;
  Roster roster;
  entropy.Fill(roster.salt);
  ClosedRound round{.attempt = attempt_, .nonces = {}, .aggregated_ciphertext = {}};
  for (const auto& [nonce, participant] : sender_of_nonce_) {
    round.nonces.push_back(nonce);
    roster.members.push_back(member_of(participant));
    roster.lists.push_back(list_of(roster.members.back()));
  }
  round.roster_digest = RosterDigest(roster);
  Closed closed{.closed_round = BeginClosedRound(round, params_.aggregated_ciphertext_bytes()),
                .roster = WriteRoster(roster, attempt_)};
  WriteAggregatedCiphertext(
      AggregatedCiphertextOf(closed.closed_round, params_.aggregated_ciphertext_bytes()));
  return closed;
}

absl::StatusOr<base::Bytes> Aggregator::ClosePartial() {
  TACET_RETURN_IF_ERROR(CheckOpen());
  closed_ = true;
  base::Bytes aggregated_ciphertext(params_.aggregated_ciphertext_bytes());
  WriteAggregatedCiphertext(aggregated_ciphertext);
  PartialSum sum{
      .attempt = attempt_, .uploads = {}, .aggregated_ciphertext = aggregated_ciphertext};
  for (const auto& [nonce, participant] : sender_of_nonce_) {
    sum.uploads.push_back({.participant = participant, .nonce = nonce});
  }
  std::ranges::sort(sum.uploads, {}, &AddedUpload::participant);
  return WritePartialSum(sum, params_);
}

}  // namespace tacet::secagg
