#include "tacet/policy/change_kind.h"

#include "tacet/base/status.h"

namespace tacet::policy {

std::string_view ChangeKindName(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kTraining:
      return "training";
    case ChangeKind::kQuery:
      return "query";
    case ChangeKind::kRemoval:
      return "removal";
    case ChangeKind::kServer:
      return "server";
    case ChangeKind::kRenewal:
      return "renewal";
    case ChangeKind::kAddition:
      return "addition";
  }
  return "";
}

absl::StatusOr<ChangeKind> ParseChangeKind(std::string_view word) {
  for (const ChangeKind kind : kChangeKinds) {
    if (ChangeKindName(kind) == word) return kind;
  }
  return base::InvalidArgument(
      "unknown kind \"{}\": expected training, query, removal, server, renewal or addition", word);
}

std::string ChangeKindNames(const std::vector<ChangeKind>& kinds) {
  std::string names;
  for (const ChangeKind kind : kinds) {
    names += names.empty() ? "" : ", ";
    names += ChangeKindName(kind);
  }
  return names;
}

}  // namespace tacet::policy
