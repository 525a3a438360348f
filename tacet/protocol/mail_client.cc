#include "tacet/protocol/mail_client.h"

#include <algorithm>
#include <optional>

#include "tacet/base/status.h"
#include "tacet/protocol/member_request.h"

namespace tacet::protocol {
namespace {

// 64 MiB need 19 kB a second.
constexpr uint64_t kMostFetchSeconds = 3600;

}  // namespace

absl::StatusOr<base::Bytes> MailClient::Call(MailBody body,
                                             std::span<const uint8_t> content) const {
  const base::Bytes head = WriteMailHead(
      {.sender = sender(), .time = clock_(), .body = std::move(body)}, content, federation_, key_);
  return wire_.CallWithContent(head, content, most_seconds_);
}

absl::Status MailClient::Put(const MailName& name, std::span<const uint8_t> object) const {
  if (object.empty() || object.size() > MaxMailBytes(name.kind)) {
    return base::InvalidArgument("{} bytes cannot be sent through the server, the most is {}",
                                 object.size(), MaxMailBytes(name.kind));
  }
  PutMail put{.name = name, .total = object.size(), .digest = crypto::Sha256(object)};
  // A server that returns what does not fit is asked no more often than there are parts.
  const size_t most_calls = 2 + object.size() / kMaxPartBytes * 2;
  // A part that comes whole is not asked for.
  base::Bytes part;
  if (object.size() <= kMaxPartBytes) part.assign(object.begin(), object.end());
  for (size_t calls = 0; calls <= most_calls; ++calls) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes answer, Call(put, part));
    TACET_ASSIGN_OR_RETURN(const uint64_t arrived, ReadArrived(answer));
    if (arrived == object.size()) return absl::OkStatus();
    if (arrived > object.size()) break;
    put.offset = arrived;
    const auto rest = object.subspan(arrived);
    const auto next = rest.first(std::min(rest.size(), kMaxPartBytes));
    part.assign(next.begin(), next.end());
  }
  return base::DataLoss("the server does not take the mail: its answers contradict each other");
}

absl::StatusOr<base::Bytes> MailClient::Fetch(const MailName& name) const {
  base::Bytes object;
  const uint64_t give_up = clock_() + kMostFetchSeconds;
  std::optional<uint64_t> total;
  while (true) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes answer,
                           Call(FetchMail{.name = name, .offset = object.size()}));
    TACET_ASSIGN_OR_RETURN(const FetchedPart fetched, ReadFetchedPart(answer));
    if (fetched.total > MaxMailBytes(name.kind)) {
      return base::DataLoss("the server's mail has {} bytes, the most is {}", fetched.total,
                            MaxMailBytes(name.kind));
    }
    // Parts that are not full, and a size that changes, would be calls without end.
    const uint64_t rest = fetched.total - std::min<uint64_t>(object.size(), fetched.total);
    if (total.value_or(fetched.total) != fetched.total ||
        fetched.part.size() != std::min<uint64_t>(rest, kMaxPartBytes)) {
      return base::DataLoss("the server's mail is cut: {} bytes at byte {} of {}. Fetch it again",
                            fetched.part.size(), object.size(), fetched.total);
    }
    total = fetched.total;
    object.insert(object.end(), fetched.part.begin(), fetched.part.end());
    if (object.size() >= fetched.total) return object;
    if (clock_() >= give_up) {
      return absl::DeadlineExceededError(
          fmt::format("the server has sent {} of {} bytes of the mail in {} seconds: the "
                      "connection is too slow",
                      object.size(), fetched.total, kMostFetchSeconds));
    }
  }
}

absl::Status MailClient::Drop(const MailName& name, const crypto::Digest& digest) const {
  return Call(DropMail{.name = name, .digest = digest}).status();
}

}  // namespace tacet::protocol
