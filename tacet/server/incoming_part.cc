#include "tacet/server/incoming_part.h"

#include "tacet/base/status.h"
#include "tacet/server/round_server.h"

namespace tacet::server {

absl::Status IncomingPart::Write(std::span<const uint8_t> bytes) {
  return writer_ == nullptr ? absl::OkStatus() : writer_->Write(bytes);
}

absl::StatusOr<uint64_t> IncomingPart::Finish() {
  if (writer_ != nullptr) TACET_RETURN_IF_ERROR(writer_->Commit());
  writer_.reset();
  if (giving_ == nullptr || arrived_ < request_.total) return arrived_;
  return server_.AcceptWhole(member_, request_);
}

}  // namespace tacet::server
