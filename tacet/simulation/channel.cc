#include "tacet/simulation/channel.h"

namespace tacet::simulation {

std::string_view MessageKindName(MessageKind kind) {
  switch (kind) {
    case MessageKind::kUpload:
      return "upload";
    case MessageKind::kClosedRound:
      return "closed round";
    case MessageKind::kVote:
      return "vote";
    case MessageKind::kOpenedSum:
      return "opened sum";
  }
  return "unknown";
}

}  // namespace tacet::simulation
