#include "tacet/base/json_members.h"

#include <limits>

namespace tacet::base {

const JsonValue& JsonMembers::Child(std::string_view key) const {
  static const JsonValue none;
  const JsonValue* value = object_.Find(key);
  return value == nullptr ? none : *value;
}

absl::Status JsonMembers::Get(const JsonValue& value, double& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsDouble());
  return absl::OkStatus();
}

absl::Status JsonMembers::Get(const JsonValue& value, uint64_t& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsUint());
  return absl::OkStatus();
}

absl::Status JsonMembers::Get(const JsonValue& value, uint32_t& target) {
  TACET_ASSIGN_OR_RETURN(const uint64_t wide, value.AsUint());
  if (wide > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("expected a number below 2^32, found {}", wide);
  }
  target = static_cast<uint32_t>(wide);
  return absl::OkStatus();
}

absl::Status JsonMembers::Get(const JsonValue& value, bool& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsBool());
  return absl::OkStatus();
}

absl::Status JsonMembers::Get(const JsonValue& value, std::string& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsString());
  return absl::OkStatus();
}

absl::Status JsonMembers::Get(const JsonValue& value, Bytes& target) {
  TACET_ASSIGN_OR_RETURN(const std::string digits, value.AsString());
  TACET_ASSIGN_OR_RETURN(target, FromHex(digits));
  return absl::OkStatus();
}

}  // namespace tacet::base
