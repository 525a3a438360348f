#include "tacet/base/status.h"

#include "absl/strings/cord.h"

namespace tacet::base {

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), fmt::format("{}: {}", context, Message(status)));
  status.ForEachPayload([&annotated](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

}  // namespace tacet::base
