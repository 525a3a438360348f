#include "tacet/federation/request_handler.h"

#include <string>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::federation {

RequestHandler::RequestHandler(const SignedManifest& manifest, RoundServer& server,
                               RequestLimits& limits, RequestObserver& observer, UnixClock clock)
    : manifest_(manifest),
      server_(server),
      limits_(limits),
      observer_(observer),
      clock_(std::move(clock)) {}

absl::StatusOr<MemberRequest> RequestHandler::Read(
    std::span<const uint8_t> bytes, std::optional<std::string_view> certificate_name) const {
  TACET_ASSIGN_OR_RETURN(MemberRequest request, ReadMemberRequest(bytes, manifest_, clock_()));
  const std::string& signer = manifest_.members()[request.member].name;
  if (certificate_name.has_value() && *certificate_name != signer) {
    return base::PermissionDenied("request: signed by {}, sent under the certificate of {}", signer,
                                  *certificate_name);
  }
  TACET_RETURN_IF_ERROR(limits_.Admit(request.member, bytes.size()));
  return request;
}

absl::StatusOr<std::variant<base::Bytes, Waiting>> RequestHandler::Handle(
    std::span<const uint8_t> bytes, std::optional<std::string_view> certificate_name) {
  const absl::StatusOr<MemberRequest> request = Read(bytes, certificate_name);
  if (!request.ok()) {
    observer_.OnRequest("unreadable", request.status(), bytes.size(), 0);
    return request.status();
  }
  if (const auto* await = std::get_if<AwaitRequest>(&request->body);
      await != nullptr && !server_.IsNews(*await)) {
    return Waiting{.member = request->member, .request = *await};
  }
  return Dispatch(*request, bytes.size());
}

absl::StatusOr<base::Bytes> RequestHandler::Dispatch(const MemberRequest& request,
                                                     size_t request_bytes) {
  struct Dispatcher {
    RoundServer& server;
    uint64_t member;

    using Answer = absl::StatusOr<base::Bytes>;
    static Answer Nothing(const absl::Status& status) {
      TACET_RETURN_IF_ERROR(status);
      return base::Bytes();
    }
    static Answer Blobs(const absl::StatusOr<std::vector<base::Bytes>>& blobs) {
      TACET_RETURN_IF_ERROR(blobs.status());
      return WriteBlobs(*blobs);
    }

    Answer operator()(const AwaitRequest& body) const {
      TACET_ASSIGN_OR_RETURN(const Announcement announcement,
                             server.AnnouncementFor(member, body.listed_from, body.opening));
      return WriteAnnouncement(announcement);
    }
    Answer operator()(const PutPartRequest& body) const {
      TACET_ASSIGN_OR_RETURN(const uint64_t arrived, server.TakePart(member, body));
      return WriteArrived(arrived);
    }
    Answer operator()(const FetchPartRequest& body) const {
      TACET_ASSIGN_OR_RETURN(const FetchedPart fetched, server.PartOf(body));
      return WriteFetchedPart(fetched.total, fetched.part);
    }
    Answer operator()(const PutVoteRequest& body) const {
      return Nothing(server.TakeVote(member, body.attempt, body.vote));
    }
    Answer operator()(const FetchVotesRequest& body) const {
      return Blobs(server.Votes(body.attempt));
    }
    Answer operator()(const PutRefusalRequest& body) const {
      return Nothing(server.TakeRefusal(member, body.attempt));
    }
    Answer operator()(const PutStatementRequest& body) const {
      return Nothing(server.TakeStatement(member, body.statement));
    }
    Answer operator()(const FetchStatementsRequest& body) const {
      return Blobs(server.Statements(body.round));
    }
  };
  absl::StatusOr<base::Bytes> answer =
      std::visit(Dispatcher{server_, request.member}, request.body);
  observer_.OnRequest(RequestKindName(request.body.index()), answer.status(), request_bytes,
                      answer.ok() ? answer->size() : 0);
  if (answer.ok()) limits_.Charge(request.member, answer->size());
  return answer;
}

bool RequestHandler::IsNews(const Waiting& waiting) const {
  return server_.IsNews(waiting.request);
}

absl::StatusOr<base::Bytes> RequestHandler::Answer(const Waiting& waiting) {
  return Dispatch({.member = waiting.member, .body = waiting.request}, 0);
}

}  // namespace tacet::federation
