// tacet.v1.Message in the memory that gRPC sends and receives: no copies of the content on the way
// out, one on the way in.
#ifndef TACET_TRANSPORT_GRPC_MESSAGE_BUFFER_H_
#define TACET_TRANSPORT_GRPC_MESSAGE_BUFFER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "proto/federation.pb.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"

namespace tacet::transport::grpc {

inline ::grpc::ByteBuffer ToBuffer(base::Bytes content) {
  // Field 1, length-delimited: its tag and the length as a varint.
  base::Bytes head{0x0a};
  size_t length = content.size();
  for (; length >= 0x80; length >>= 7) head.push_back(static_cast<uint8_t>(length | 0x80));
  head.push_back(static_cast<uint8_t>(length));

  auto owned = std::make_unique<base::Bytes>(std::move(content));
  const auto release = [](void* bytes) { delete static_cast<base::Bytes*>(bytes); };
  base::Bytes* const kept = owned.release();
  const ::grpc::Slice slices[] = {::grpc::Slice(head.data(), head.size()),
                                  ::grpc::Slice(kept->data(), kept->size(), release, kept)};
  return {slices, 2};
}

// The content. InvalidArgument when the bytes are not a Message. Frees `buffer`.
inline absl::StatusOr<std::string> FromBuffer(::grpc::ByteBuffer& buffer) {
  v1::Message message;
  ::grpc::ProtoBufferReader reader(&buffer);
  const bool parsed = reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
  buffer.Clear();
  if (!parsed) return base::InvalidArgument("request: not a protocol buffer");
  return std::move(*message.mutable_content());
}

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_MESSAGE_BUFFER_H_
