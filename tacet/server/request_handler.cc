#include "tacet/server/request_handler.h"

#include <string>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::server {

RequestHandler::RequestHandler(const agreement::SignedManifest& manifest, RoundServer& server,
                               RequestLimits& limits, RequestObserver& observer,
                               base::UnixClock clock)
    : manifest_(manifest),
      server_(server),
      limits_(limits),
      observer_(observer),
      clock_(std::move(clock)) {}

absl::StatusOr<protocol::MemberRequest> RequestHandler::Read(
    std::span<const uint8_t> bytes, std::optional<std::string_view> certificate_name) const {
  TACET_ASSIGN_OR_RETURN(protocol::MemberRequest request,
                         protocol::ReadMemberRequest(bytes, manifest_, clock_()));
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
  const absl::StatusOr<protocol::MemberRequest> request = Read(bytes, certificate_name);
  if (!request.ok()) {
    observer_.OnRequest("unreadable", request.status(), bytes.size(), 0);
    return request.status();
  }
  if (const auto* await = std::get_if<protocol::AwaitRequest>(&request->body);
      await != nullptr && !server_.IsNews(*await)) {
    return Waiting{.member = request->member, .request = *await};
  }
  return Dispatch(*request, bytes.size());
}

absl::StatusOr<base::Bytes> RequestHandler::Dispatch(const protocol::MemberRequest& request,
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
      return protocol::WriteBlobs(*blobs);
    }

    Answer operator()(const protocol::AwaitRequest& body) const {
      TACET_ASSIGN_OR_RETURN(const protocol::Announcement announcement,
                             server.AnnouncementFor(member, body.listed_from, body.unmasking));
      return protocol::WriteAnnouncement(announcement);
    }
    Answer operator()(const protocol::PutPartRequest& body) const {
      TACET_ASSIGN_OR_RETURN(const uint64_t arrived, server.TakePart(member, body));
      return protocol::WriteArrived(arrived);
    }
    Answer operator()(const protocol::FetchPartRequest& body) const {
      TACET_ASSIGN_OR_RETURN(const protocol::FetchedPart fetched, server.PartOf(member, body));
      return protocol::WriteFetchedPart(fetched.total, fetched.part);
    }
    Answer operator()(const protocol::PutVoteRequest& body) const {
      return Nothing(server.TakeVote(member, body.attempt, body.vote));
    }
    Answer operator()(const protocol::FetchVotesRequest& body) const {
      return Blobs(server.Votes(body.attempt));
    }
    Answer operator()(const protocol::PutVerdictRequest& body) const {
      return Nothing(server.TakeVerdict(member, body.attempt, body.confirmed));
    }
    Answer operator()(const protocol::PutAttestationRequest& body) const {
      return Nothing(server.TakeAttestation(member, body.statement));
    }
    Answer operator()(const protocol::FetchAttestationsRequest& body) const {
      return Blobs(server.Statements(body.round));
    }
  };
  absl::StatusOr<base::Bytes> answer =
      std::visit(Dispatcher{server_, request.member}, request.body);
  observer_.OnRequest(protocol::RequestKindName(request.body.index()), answer.status(),
                      request_bytes, answer.ok() ? answer->size() : 0);
  if (answer.ok()) limits_.Charge(request.member, answer->size());
  return answer;
}

bool RequestHandler::IsNews(const Waiting& waiting) const {
  return server_.IsNews(waiting.request);
}

absl::StatusOr<base::Bytes> RequestHandler::Answer(const Waiting& waiting) {
  return Dispatch({.member = waiting.member, .body = waiting.request}, 0);
}

}  // namespace tacet::server
