// Conversion between gRPC and Abseil statuses. The codes are the same; a status from the server is
// kept apart from one that the transport made.
#ifndef TACET_TRANSPORT_GRPC_GRPC_STATUS_H_
#define TACET_TRANSPORT_GRPC_GRPC_STATUS_H_

#include "absl/status/status.h"
#include <grpcpp/support/status.h>

#include "tacet/base/status.h"

namespace tacet::transport::grpc {

// Trailing metadata of what a server answered itself. A status without it was made on the way: by
// gRPC, a proxy, a balancer.
inline constexpr char kAnsweredKey[] = "tacet-answered";
inline constexpr char kAnsweredValue[] = "1";

inline ::grpc::Status ToGrpc(const absl::Status& status) {
  return ::grpc::Status(static_cast<::grpc::StatusCode>(status.code()), base::Message(status));
}

inline absl::Status FromGrpc(const ::grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_GRPC_STATUS_H_
