#include "tacet/member/remote_server.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::member {
namespace {

// Longer than any server waits for a notification. A wire that sees bytes move notices sooner that
// a connection is dead.
constexpr uint32_t kAwaitSeconds = 60;
// For a message of another framework, which may come for it late.
constexpr uint32_t kCallSeconds = 300;
// The number of times that a server may have lost the beginning of an object that is being sent.
constexpr int kMaxLost = 3;

// An empty part: the answer says how much of the object has arrived.
protocol::PutPartRequest AskingWhatArrived(const protocol::BulkName& name, uint64_t total,
                                           const crypto::Digest& digest) {
  return {.name = name, .total = total, .digest = digest, .offset = 0, .part = {}};
}

// The value that was read, or the reason why not.
template <typename Value>
absl::Status Keep(absl::StatusOr<Value> value, Value& kept) {
  if (value.ok()) kept = *std::move(value);
  return value.status();
}

// The number of an object's `total` bytes that have arrived; `sent` were sent. A part arrives
// wholly or not at all: a server that acknowledges less of it would be sent the rest again, 2 MiB
// for every byte.
absl::Status KeepArrived(std::span<const uint8_t> answer, const protocol::BulkName& name,
                         uint64_t sent, uint64_t total, uint64_t& arrived) {
  TACET_RETURN_IF_ERROR(Keep(protocol::ReadArrived(answer), arrived));
  if (arrived >= sent && arrived <= total) return absl::OkStatus();
  return base::DataLoss("{}: the server says that {} of {} bytes have arrived, {} were sent",
                        protocol::BulkKindName(name.kind), arrived, total, sent);
}

absl::Status ReadNothing(std::span<const uint8_t> answer) {
  if (answer.empty()) return absl::OkStatus();
  return base::DataLoss("the server answers with {} bytes where nothing is to be said",
                        answer.size());
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

absl::Status RemoteServer::Call(protocol::RequestBody body, const TakeAnswer& take,
                                std::span<const uint8_t> content) const {
  const bool waits = std::holds_alternative<protocol::AwaitRequest>(body);
  protocol::MemberRequest request{.member = member_, .time = 0, .body = std::move(body)};
  int failures = 0, unreadable = 0;
  while (true) {
    request.time = clock_();  // signed again each time: a request ages
    const base::Bytes head = protocol::WriteRequestHead(request, content, manifest_, key_);
    absl::StatusOr<base::Bytes> answer =
        wire_.CallWithContent(head, content, waits ? kAwaitSeconds : kCallSeconds);
    if (answer.ok()) {
      const absl::Status was_read = take(*answer);
      if (was_read.ok() || ++unreadable > kMostUnreadable) return was_read;
      if (try_again_ && !try_again_(was_read, ++failures)) return was_read;
      continue;
    }
    if (waits || !protocol::IsRetryable(answer.status())) return answer.status();
    if (!try_again_ || !try_again_(answer.status(), ++failures)) return answer.status();
  }
}

absl::Status RemoteServer::Say(protocol::RequestBody body) const {
  return Call(std::move(body), ReadNothing);
}

absl::StatusOr<std::vector<base::Bytes>> RemoteServer::FetchList(protocol::RequestBody body) const {
  std::vector<base::Bytes> list;
  TACET_RETURN_IF_ERROR(Call(std::move(body), [&list](std::span<const uint8_t> answer) {
    return Keep(protocol::ReadBlobs(answer), list);
  }));
  return list;
}

absl::StatusOr<protocol::Announcement> RemoteServer::Await(
    const protocol::AwaitRequest& request) const {
  protocol::Announcement announcement;
  TACET_RETURN_IF_ERROR(Call(request, [&announcement](std::span<const uint8_t> answer) {
    return Keep(protocol::ReadAnnouncement(answer), announcement);
  }));
  return announcement;
}

absl::StatusOr<bool> RemoteServer::Has(const protocol::BulkName& name,
                                       std::span<const uint8_t> bytes) const {
  uint64_t arrived = 0;
  TACET_RETURN_IF_ERROR(Call(AskingWhatArrived(name, bytes.size(), crypto::Sha256(bytes)),
                             [&](std::span<const uint8_t> answer) {
                               return KeepArrived(answer, name, 0, bytes.size(), arrived);
                             }));
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
    uint64_t arrived = 0;
    const absl::Status put = Call(
        request,
        [&](std::span<const uint8_t> answer) {
          return KeepArrived(answer, name, request.offset + part.size(), bytes.size(), arrived);
        },
        part);
    if (put.code() == absl::StatusCode::kOutOfRange && ++lost <= kMaxLost) {
      request.offset = 0;  // what had arrived is gone: asks again
      part = {};
      continue;
    }
    TACET_RETURN_IF_ERROR(put);
    if (arrived == bytes.size()) return absl::OkStatus();
    part = bytes.subspan(arrived, std::min(protocol::kMaxPartBytes, bytes.size() - arrived));
    request.offset = arrived;
  }
}

absl::StatusOr<base::Bytes> RemoteServer::FetchOnce(const protocol::BulkName& name, uint32_t index,
                                                    uint64_t most_bytes) const {
  base::Bytes whole;
  protocol::FetchPartRequest request{.name = name, .index = index};
  std::optional<uint64_t> total;
  const auto take = [&](base::Bytes& answer) -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const protocol::FetchedPart fetched, protocol::ReadFetchedPart(answer));
    // Parts have their full size and the object keeps its own: as many requests as parts.
    if (fetched.total > most_bytes || fetched.total != total.value_or(fetched.total) ||
        fetched.total <= whole.size() ||
        fetched.part.size() !=
            std::min<uint64_t>(protocol::kMaxPartBytes, fetched.total - whole.size())) {
      return base::DataLoss("{}: the server sends {} bytes after {} of {}, at most {} are expected",
                            protocol::BulkKindName(name.kind), fetched.part.size(), whole.size(),
                            fetched.total, most_bytes);
    }
    total = fetched.total;
    if (fetched.part.size() == fetched.total) {  // in one part
      answer.erase(answer.begin(), answer.end() - static_cast<ptrdiff_t>(fetched.total));
      whole = std::move(answer);
      return absl::OkStatus();
    }
    whole.reserve(fetched.total);
    whole.insert(whole.end(), fetched.part.begin(), fetched.part.end());
    return absl::OkStatus();
  };
  do {
    request.offset = whole.size();
    TACET_RETURN_IF_ERROR(Call(request, take));
  } while (whole.size() < *total);
  return whole;
}

absl::StatusOr<base::Bytes> RemoteServer::Fetch(const protocol::BulkName& name, uint32_t index,
                                                uint64_t most_bytes, const Read& read) const {
  for (int unreadable = 0;;) {
    TACET_ASSIGN_OR_RETURN(base::Bytes whole, FetchOnce(name, index, most_bytes));
    if (!read || read(whole).ok() || ++unreadable > kMostUnreadable) return whole;
  }
}

absl::StatusOr<bool> RemoteServer::Keeps(const protocol::BulkName& name, uint32_t index,
                                         uint64_t bytes) const {
  const absl::Status fetched = Call(
      protocol::FetchPartRequest{.name = name, .index = index, .offset = bytes},
      [](std::span<const uint8_t> answer) { return protocol::ReadFetchedPart(answer).status(); });
  if (protocol::IsRetryable(fetched)) return fetched;
  return fetched.ok();
}

absl::Status RemoteServer::PutVote(const secagg::Attempt& attempt,
                                   std::span<const uint8_t> vote) const {
  return Say(
      protocol::PutVoteRequest{.attempt = attempt, .vote = base::Bytes(vote.begin(), vote.end())});
}

absl::StatusOr<std::vector<base::Bytes>> RemoteServer::FetchVotes(const secagg::Attempt& attempt,
                                                                  const Read& read) const {
  const auto all_read = [&read](const std::vector<base::Bytes>& votes) {
    return std::ranges::all_of(votes, [&](const base::Bytes& vote) { return read(vote).ok(); });
  };
  for (int unreadable = 0;;) {
    TACET_ASSIGN_OR_RETURN(std::vector<base::Bytes> votes,
                           FetchList(protocol::FetchVotesRequest{.attempt = attempt}));
    if (!read || all_read(votes) || ++unreadable > kMostUnreadable) return votes;
  }
}

absl::Status RemoteServer::FetchPackets(const secagg::Attempt& attempt, uint64_t from,
                                        const Read& read) const {
  for (int unreadable = 0;;) {
    TACET_ASSIGN_OR_RETURN(
        const std::vector<base::Bytes> packets,
        FetchList(protocol::FetchPacketsRequest{.attempt = attempt, .from = from}));
    absl::Status all_read;
    for (const base::Bytes& packet : packets) all_read.Update(read(packet));
    if (all_read.ok() || ++unreadable > kMostUnreadable) return all_read;
  }
}

absl::Status RemoteServer::PutVerdict(const secagg::Attempt& attempt, bool confirmed) const {
  return Say(protocol::PutVerdictRequest{.attempt = attempt, .confirmed = confirmed});
}

absl::Status RemoteServer::PutAttestation(std::span<const uint8_t> attestation) const {
  return Say(protocol::PutAttestationRequest{
      .attestation = base::Bytes(attestation.begin(), attestation.end())});
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
  const auto makes_again = [this](const absl::Status& why) {
    return protocol::IsRetryable(why) && try_again_ && try_again_(why, 1);
  };
  const bool is_unreadable = attested.ok() && !ReadNothing(*answers[0]).ok();
  if (is_unreadable || makes_again(attested)) attested = PutAttestation(attestation);
  const bool is_lost = put.ok() ? *answers[1] != protocol::WriteArrived(bytes.size())
                                : put.code() == absl::StatusCode::kOutOfRange || makes_again(put);
  if (is_lost) put = Put(name, bytes, digest);
  return results;
}

absl::StatusOr<std::vector<base::Bytes>> RemoteServer::FetchAttestations(uint32_t round) const {
  return FetchList(protocol::FetchAttestationsRequest{.round = round});
}

absl::Status RemoteServer::PutOpeningStatement(std::span<const uint8_t> statement) const {
  return Say(
      protocol::PutOpeningRequest{.statement = base::Bytes(statement.begin(), statement.end())});
}

absl::StatusOr<std::vector<base::Bytes>> RemoteServer::FetchOpeningStatements() const {
  return FetchList(protocol::FetchOpeningRequest{});
}

}  // namespace tacet::member
