// Requests and answers in one piece. The programs send and read heads and contents apart.
#ifndef TACET_PROTOCOL_WHOLE_REQUESTS_FOR_TEST_H_
#define TACET_PROTOCOL_WHOLE_REQUESTS_FOR_TEST_H_

#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/member_request.h"

namespace tacet::protocol {

inline base::Bytes WriteMemberRequest(const MemberRequest& request,
                                      const agreement::SignedManifest& manifest,
                                      const crypto::SigningKey& key) {
  const auto* const put = std::get_if<PutPartRequest>(&request.body);
  const std::span<const uint8_t> content = put == nullptr ? std::span<const uint8_t>() : put->part;
  base::Bytes bytes = WriteRequestHead(request, content, manifest, key);
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

// With the errors of ReadSignedHead and CheckRequestTime.
inline absl::StatusOr<RequestHead> ReadRequestHead(std::span<const uint8_t> bytes,
                                                   const agreement::SignedManifest& manifest,
                                                   uint64_t now) {
  TACET_ASSIGN_OR_RETURN(RequestHead head, ReadSignedHead(bytes, manifest));
  TACET_RETURN_IF_ERROR(CheckRequestTime(head.request.time, now));
  return head;
}

// With the errors of head and content.
inline absl::StatusOr<MemberRequest> ReadMemberRequest(std::span<const uint8_t> bytes,
                                                       const agreement::SignedManifest& manifest,
                                                       uint64_t now) {
  TACET_ASSIGN_OR_RETURN(RequestHead head, ReadRequestHead(bytes, manifest, now));
  const std::span<const uint8_t> content = bytes.subspan(head.head_bytes);
  TACET_RETURN_IF_ERROR(CheckContentLength(head, content.size()));
  if (auto* const put = std::get_if<PutPartRequest>(&head.request.body); put != nullptr) {
    TACET_RETURN_IF_ERROR(CheckContent(head, crypto::Sha256(content)));
    put->part.assign(content.begin(), content.end());
  }
  return std::move(head.request);
}

inline base::Bytes WriteFetchedPart(uint64_t total, std::span<const uint8_t> part) {
  base::Bytes bytes = WriteFetchedPartHead(total, part.size());
  bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_WHOLE_REQUESTS_FOR_TEST_H_
