#include "tacet/server/incoming_part.h"

#include "tacet/base/status.h"
#include "tacet/server/round_server.h"

namespace tacet::server {

absl::Status IncomingPart::Write(std::span<const uint8_t> bytes) {
  return writer_ == nullptr ? absl::OkStatus() : writer_->Write(bytes);
}

absl::StatusOr<uint64_t> IncomingPart::Finish(const crypto::Digest& digest) {
  // For an object in one part all is known that reading it again would show.
  const bool is_checked = writer_ != nullptr && request_.offset == 0 && digest == request_.digest;
  if (writer_ != nullptr) TACET_RETURN_IF_ERROR(writer_->Commit());
  writer_.reset();
  if (giving_ == nullptr || arrived_ < request_.total) return arrived_;
  return server_.AcceptWhole(member_, request_, is_checked);
}

}  // namespace tacet::server
