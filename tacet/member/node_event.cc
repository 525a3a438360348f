#include "tacet/member/node_event.h"

namespace tacet::member {

std::string_view NodeEventKindName(NodeEventKind kind) {
  switch (kind) {
    case NodeEventKind::kAsked:
      return "asked";
    case NodeEventKind::kSent:
      return "sent";
    case NodeEventKind::kApplied:
      return "applied";
    case NodeEventKind::kRefused:
      return "refused";
    case NodeEventKind::kViolation:
      return "violation";
    case NodeEventKind::kNote:
      return "note";
  }
  return "unknown";
}

}  // namespace tacet::member
