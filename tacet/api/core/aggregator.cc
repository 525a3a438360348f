#include "tacet/aggregator.h"

#include <map>
#include <utility>

#include "tacet/agreement/pair_keys.h"
#include "tacet/api/core/parts.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/key_packet.h"

namespace tacet {

struct api::AggregatorParts {
  secagg::Aggregator aggregator;
  uint64_t clients;
  std::map<uint64_t, crypto::Digest> lists;  // of the key packets, by member
  bool closed = false;

  absl::Status CheckMember(uint64_t member) const {
    if (member >= clients) {
      return base::InvalidArgument("member is {}, the agreement has members 0 to {}", member,
                                   clients - 1);
    }
    if (lists.contains(member)) return absl::OkStatus();
    return base::FailedPrecondition(
        "Aggregator was given no usable key packet of member {}: no seat could unmask its upload",
        member);
  }
};

Aggregator::Aggregator(std::unique_ptr<api::AggregatorParts> parts) : parts_(std::move(parts)) {}
Aggregator::~Aggregator() = default;
Aggregator::Aggregator(Aggregator&&) noexcept = default;
Aggregator& Aggregator::operator=(Aggregator&&) noexcept = default;

absl::StatusOr<Aggregator> Aggregator::Create(const Agreement& agreement, const AttemptId& attempt,
                                              std::span<const Bytes> key_packets) {
  TACET_ASSIGN_OR_RETURN(const secagg::Attempt identity, api::AttemptOf(agreement, attempt));
  const agreement::Manifest& manifest = api::ManifestOf(agreement);
  const size_t seats = manifest.committee().size();
  std::map<uint64_t, crypto::Digest> lists;
  for (const Bytes& packet : key_packets) {
    const absl::StatusOr<secagg::KeyPacket> read = secagg::ReadKeyPacket(packet, seats);
    if (!read.ok() || lists.contains(read->owner.client)) continue;
    if (!agreement.CheckKeyPacket(read->owner.client, packet).ok()) continue;
    lists.emplace(read->owner.client, secagg::ListDigest(*read));
  }
  return Aggregator(std::make_unique<api::AggregatorParts>(api::AggregatorParts{
      .aggregator = {manifest.terms().aggregation(), identity, manifest.terms().min_participants()},
      .clients = manifest.spec().sampling.clients,
      .lists = std::move(lists)}));
}

absl::Status Aggregator::Submit(uint64_t member, std::span<const uint8_t> upload) {
  TACET_RETURN_IF_ERROR(parts_->CheckMember(member));
  return parts_->aggregator.Submit(member, upload);
}

std::vector<absl::Status> Aggregator::SubmitEach(std::span<const Submission> submissions) {
  std::vector<absl::Status> results(submissions.size());
  std::vector<secagg::Submission> known;
  std::vector<size_t> places;  // of `known` in `submissions`
  for (size_t i = 0; i < submissions.size(); ++i) {
    results[i] = parts_->CheckMember(submissions[i].member);
    if (!results[i].ok()) continue;
    known.push_back({.participant = submissions[i].member, .upload = submissions[i].upload});
    places.push_back(i);
  }
  const std::vector<absl::Status> added = parts_->aggregator.SubmitEach(known);
  for (size_t i = 0; i < places.size(); ++i) results[places[i]] = added[i];
  return results;
}

uint32_t Aggregator::count() const { return parts_->aggregator.count(); }

absl::StatusOr<ClosedAttempt> Aggregator::Close() {
  // A second roster of one attempt would differ in its salt, and votes would be split.
  if (parts_->closed) return base::FailedPrecondition("the attempt is closed already");
  crypto::SystemEntropy entropy;
  TACET_ASSIGN_OR_RETURN(secagg::Aggregator::Closed closed,
                         parts_->aggregator.Close(entropy, [this](uint64_t member) {
                           return parts_->lists.at(member);  // each that has an upload
                         }));
  parts_->closed = true;
  return ClosedAttempt{.closed_round = std::move(closed.closed_round),
                       .roster = std::move(closed.roster)};
}

}  // namespace tacet
