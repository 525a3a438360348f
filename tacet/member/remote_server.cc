#include "tacet/member/remote_server.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::member {
namespace {

// Longer than the half minute after which a server answers without a notification.
constexpr uint32_t kAwaitSeconds = 60;
// For one part over a slow line.
constexpr uint32_t kCallSeconds = 300;
// How often a server may have lost the beginning of an object that is being sent.
constexpr int kMaxLost = 3;

// An empty part: the answer says how much of the object has arrived.
protocol::PutPartRequest AskingWhatArrived(const protocol::BulkName& name, uint64_t total,
                                           const crypto::Digest& digest) {
  return {.name = name, .total = total, .digest = digest, .offset = 0, .part = {}};
}

}  // namespace

RemoteServer::RemoteServer(const agreement::SignedManifest& manifest, uint64_t member,
                           const crypto::SigningKey& key, protocol::Wire& wire,
                           base::UnixClock clock, TryAgain try_again)
    : manifest_(manifest),
      member_(member),
      key_(key),
      wire_(wire),
      clock_(std::move(clock)),
      try_again_(std::move(try_again)) {}

absl::StatusOr<base::Bytes> RemoteServer::Call(protocol::RequestBody body,
                                               std::span<const uint8_t> content) const {
  const bool waits = std::holds_alternative<protocol::AwaitRequest>(body);
  protocol::MemberRequest request{.member = member_, .time = 0, .body = std::move(body)};
  int failures = 0;
  while (true) {
    request.time = clock_();  // signed again each time: a request ages
    const base::Bytes head = protocol::WriteRequestHead(request, content, manifest_, key_);
    absl::StatusOr<base::Bytes> answer =
        wire_.CallWithContent(head, content, waits ? kAwaitSeconds : kCallSeconds);
    if (answer.ok() || waits || !protocol::IsRetryable(answer.status())) return answer;
    if (!try_again_ || !try_again_(answer.status(), ++failures)) return answer;
  }
}

absl::StatusOr<protocol::Announcement> RemoteServer::Await(
    const protocol::AwaitRequest& request) const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes answer, Call(request));
  return protocol::ReadAnnouncement(answer);
}

absl::StatusOr<bool> RemoteServer::Has(const protocol::BulkName& name,
                                       std::span<const uint8_t> bytes) const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes answer,
                         Call(AskingWhatArrived(name, bytes.size(), crypto::Sha256(bytes))));
  TACET_ASSIGN_OR_RETURN(const uint64_t arrived, protocol::ReadArrived(answer));
  return arrived == bytes.size();
}

absl::Status RemoteServer::Put(const protocol::BulkName& name,
                               std::span<const uint8_t> bytes) const {
  return Put(name, bytes, crypto::Sha256(bytes));
}

absl::Status RemoteServer::Put(const protocol::BulkName& name, std::span<const uint8_t> bytes,
                               const crypto::Digest& digest) const {
  protocol::PutPartRequest request = AskingWhatArrived(name, bytes.size(), digest);
  // An object of one part arrives wholly or not at all. Of a longer one an empty part asks first
  // where to begin.
  std::span<const uint8_t> part;
  if (bytes.size() <= protocol::kMaxPartBytes) part = bytes;
  int lost = 0;
  while (true) {
    const absl::StatusOr<base::Bytes> answer = Call(request, part);
    if (answer.status().code() == absl::StatusCode::kOutOfRange && ++lost <= kMaxLost) {
      request.offset = 0;  // what had arrived is gone: asks again
      part = {};
      continue;
    }
    TACET_RETURN_IF_ERROR(answer.status());
    TACET_ASSIGN_OR_RETURN(const uint64_t arrived, protocol::ReadArrived(*answer));
    if (arrived == bytes.size()) return absl::OkStatus();
    // A part arrives wholly or not at all. A server that acknowledges less of it would be sent the
    // rest again, 2 MiB for every byte.
    if (arrived > bytes.size() || arrived < request.offset + part.size()) {
      return base::DataLoss("{}: the server says that {} of {} bytes have arrived, {} were sent",
                            protocol::BulkKindName(name.kind), arrived, bytes.size(),
                            request.offset + part.size());
    }
    part = bytes.subspan(arrived, std::min(protocol::kMaxPartBytes, bytes.size() - arrived));
    request.offset = arrived;
  }
}

absl::StatusOr<base::Bytes> RemoteServer::Fetch(const protocol::BulkName& name, uint32_t index,
                                                uint64_t most_bytes) const {
  base::Bytes whole;
  protocol::FetchPartRequest request{.name = name, .index = index};
  std::optional<uint64_t> total;
  while (true) {
    request.offset = whole.size();
    TACET_ASSIGN_OR_RETURN(const base::Bytes answer, Call(request));
    TACET_ASSIGN_OR_RETURN(const protocol::FetchedPart fetched, protocol::ReadFetchedPart(answer));
    if (!total.has_value()) total = fetched.total;
    // Parts have their full size and the object keeps its own: as many requests as parts.
    if (fetched.total > most_bytes || fetched.total != *total || fetched.total <= whole.size() ||
        fetched.part.size() !=
            std::min<uint64_t>(protocol::kMaxPartBytes, fetched.total - whole.size())) {
      return base::DataLoss("{}: the server sends {} bytes after {} of {}, at most {} are expected",
                            protocol::BulkKindName(name.kind), fetched.part.size(), whole.size(),
                            fetched.total, most_bytes);
    }
    whole.reserve(fetched.total);
    whole.insert(whole.end(), fetched.part.begin(), fetched.part.end());
    if (whole.size() == fetched.total) return whole;
  }
}

absl::StatusOr<bool> RemoteServer::Keeps(const protocol::BulkName& name, uint32_t index,
                                         uint64_t bytes) const {
  const absl::StatusOr<base::Bytes> answer =
      Call(protocol::FetchPartRequest{.name = name, .index = index, .offset = bytes});
  if (!answer.ok() && protocol::IsRetryable(answer.status())) return answer.status();
  return answer.ok();
}

absl::Status RemoteServer::PutVote(const secagg::Attempt& attempt,
                                   std::span<const uint8_t> vote) const {
  return Call(protocol::PutVoteRequest{.attempt = attempt,
                                       .vote = base::Bytes(vote.begin(), vote.end())})
      .status();
}

absl::StatusOr<std::vector<base::Bytes>> RemoteServer::FetchVotes(
    const secagg::Attempt& attempt) const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes answer,
                         Call(protocol::FetchVotesRequest{.attempt = attempt}));
  return protocol::ReadBlobs(answer);
}

absl::Status RemoteServer::PutVerdict(const secagg::Attempt& attempt, bool confirmed) const {
  return Call(protocol::PutVerdictRequest{.attempt = attempt, .confirmed = confirmed}).status();
}

absl::Status RemoteServer::PutAttestation(std::span<const uint8_t> attestation) const {
  return Call(protocol::PutAttestationRequest{
                  .attestation = base::Bytes(attestation.begin(), attestation.end())})
      .status();
}

std::pair<absl::Status, absl::Status> RemoteServer::PutAttestationWith(
    std::span<const uint8_t> attestation, const protocol::BulkName& name,
    std::span<const uint8_t> bytes, const crypto::Digest& digest) const {
  const uint64_t now = clock_();
  const auto head_of = [&](protocol::RequestBody body, std::span<const uint8_t> content) {
    return protocol::WriteRequestHead({.member = member_, .time = now, .body = std::move(body)},
                                      content, manifest_, key_);
  };
  const protocol::Wire::Request requests[] = {
      {.head = head_of(protocol::PutAttestationRequest{.attestation = base::Bytes(
                                                           attestation.begin(), attestation.end())},
                       {})},
      {.head = head_of(AskingWhatArrived(name, bytes.size(), digest), bytes), .content = bytes}};
  const auto answers = wire_.CallTogether(requests, kCallSeconds);
  std::pair<absl::Status, absl::Status> results(answers[0].status(), answers[1].status());
  auto& [attested, put] = results;
  if (MakesAgain(attested)) attested = PutAttestation(attestation);
  const bool is_lost = put.ok() ? *answers[1] != protocol::WriteArrived(bytes.size())
                                : put.code() == absl::StatusCode::kOutOfRange || MakesAgain(put);
  if (is_lost) put = Put(name, bytes, digest);
  return results;
}

absl::StatusOr<std::vector<base::Bytes>> RemoteServer::FetchAttestations(uint32_t round) const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes answer,
                         Call(protocol::FetchAttestationsRequest{.round = round}));
  return protocol::ReadBlobs(answer);
}

absl::Status RemoteServer::PutOpeningStatement(std::span<const uint8_t> statement) const {
  return Call(protocol::PutOpeningRequest{.statement =
                                              base::Bytes(statement.begin(), statement.end())})
      .status();
}

absl::StatusOr<std::vector<base::Bytes>> RemoteServer::FetchOpeningStatements() const {
  TACET_ASSIGN_OR_RETURN(const base::Bytes answer, Call(protocol::FetchOpeningRequest{}));
  return protocol::ReadBlobs(answer);
}

}  // namespace tacet::member
