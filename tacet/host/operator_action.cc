#include "tacet/host/operator_action.h"

#include <array>
#include <limits>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/base/utf8.h"

namespace tacet::host {
namespace {

using base::JsonValue;

// In the order of OperatorVerb.
constexpr std::array<std::string_view, 4> kVerbs = {"pause", "resume", "acknowledge",
                                                    "start-epoch"};

absl::StatusOr<OperatorVerb> VerbNamed(std::string_view name) {
  for (size_t i = 0; i < kVerbs.size(); ++i) {
    if (kVerbs[i] == name) return static_cast<OperatorVerb>(i);
  }
  return base::InvalidArgument("action: expected pause, resume, acknowledge or start-epoch");
}

// Controls, and marks that hide text or turn its direction.
bool ActsOnItsReader(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) || c == 0xfeff || c == 0xad ||
         c == 0x61c || c == 0x180e || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe0fff);
}

absl::Status CheckNote(std::string_view note) {
  if (note.size() > kMaxNoteBytes) {
    return base::InvalidArgument("note: it has {} bytes, at most {}", note.size(), kMaxNoteBytes);
  }
  while (!note.empty()) {
    const size_t bytes = base::Utf8CharacterBytes(note);
    if (bytes == 0 || ActsOnItsReader(base::Utf8Character(note, bytes))) {
      return base::InvalidArgument("note: expected one line of text without control characters");
    }
    note.remove_prefix(bytes);
  }
  return absl::OkStatus();
}

absl::Status TakeField(std::string_view key, const JsonValue& value, OperatorRequest& request) {
  OperatorAction& action = request.action;
  if (key == "revision") {
    TACET_ASSIGN_OR_RETURN(request.revision, value.AsUint());
  } else if (key == "action") {
    TACET_ASSIGN_OR_RETURN(const std::string name, value.AsString());
    TACET_ASSIGN_OR_RETURN(action.verb, VerbNamed(name));
  } else if (key == "note") {
    TACET_ASSIGN_OR_RETURN(action.note, value.AsString());
    return CheckNote(action.note);
  } else if (key == "problem") {
    TACET_ASSIGN_OR_RETURN(action.problem, value.AsString());
  } else if (key == "epoch") {
    TACET_ASSIGN_OR_RETURN(const uint64_t epoch, value.AsUint());
    if (epoch > std::numeric_limits<uint32_t>::max()) return base::InvalidArgument("too large");
    action.epoch = static_cast<uint32_t>(epoch);
  } else if (key == "end_attempt") {
    TACET_ASSIGN_OR_RETURN(request.end_attempt, value.AsBool());
  } else {
    return base::InvalidArgument("there is no such field");
  }
  return absl::OkStatus();
}

absl::Status CheckFieldsOf(const OperatorRequest& request) {
  const OperatorAction& action = request.action;
  const bool acknowledges = action.verb == OperatorVerb::kAcknowledge;
  const bool starts = action.verb == OperatorVerb::kStartEpoch;
  if (acknowledges == action.problem.empty()) {
    return base::InvalidArgument("problem: acknowledge needs its code, other actions have none");
  }
  if (acknowledges && action.note.empty()) {
    return base::InvalidArgument("note: acknowledge needs one");
  }
  if (!starts && (action.epoch != 0 || request.end_attempt)) {
    return base::InvalidArgument("epoch: only start-epoch has one");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TextIn(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.Find(key);
  return value == nullptr ? absl::StatusOr<std::string>("") : value->AsString();
}

absl::StatusOr<uint64_t> NumberIn(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.Find(key);
  return value == nullptr ? absl::StatusOr<uint64_t>(0) : value->AsUint();
}

absl::StatusOr<OperatorAction> ActionFrom(std::string_view text) {
  TACET_ASSIGN_OR_RETURN(const JsonValue object, JsonValue::Parse(text));
  OperatorAction action;
  TACET_ASSIGN_OR_RETURN(const std::string verb, TextIn(object, "action"));
  TACET_ASSIGN_OR_RETURN(action.verb, VerbNamed(verb));
  TACET_ASSIGN_OR_RETURN(action.by, TextIn(object, "by"));
  TACET_ASSIGN_OR_RETURN(action.at, NumberIn(object, "at"));
  TACET_ASSIGN_OR_RETURN(action.note, TextIn(object, "note"));
  TACET_RETURN_IF_ERROR(CheckNote(action.note));
  TACET_ASSIGN_OR_RETURN(action.problem, TextIn(object, "problem"));
  TACET_ASSIGN_OR_RETURN(const uint64_t epoch, NumberIn(object, "epoch"));
  action.epoch = static_cast<uint32_t>(epoch);
  if (const JsonValue* const members = object.Find("members"); members != nullptr) {
    for (const JsonValue& member : members->items()) {
      TACET_ASSIGN_OR_RETURN(action.members.emplace_back(), member.AsString());
    }
  }
  return action;
}

}  // namespace

std::string_view OperatorVerbName(OperatorVerb verb) { return kVerbs[static_cast<size_t>(verb)]; }

absl::StatusOr<OperatorRequest> ReadOperatorRequest(std::string_view text) {
  const absl::StatusOr<JsonValue> object = JsonValue::Parse(text);
  if (!object.ok() || !object->is_object()) {
    return base::InvalidArgument("expected a JSON object");
  }
  if (object->Find("action") == nullptr || object->Find("revision") == nullptr) {
    return base::InvalidArgument("expected the fields action and revision");
  }
  OperatorRequest request;
  for (const auto& [key, value] : object->members()) {
    TACET_RETURN_IF_ERROR(base::Annotate(TakeField(key, value, request), key));
  }
  TACET_RETURN_IF_ERROR(CheckFieldsOf(request));
  return request;
}

JsonValue OperatorActionJson(const OperatorAction& action) {
  JsonValue object = JsonValue::MakeObject()
                         .Set("action", OperatorVerbName(action.verb))
                         .Set("by", action.by)
                         .Set("at", action.at);
  if (!action.note.empty()) object.Set("note", action.note);
  if (!action.problem.empty()) {
    JsonValue members = JsonValue::MakeArray();
    for (const std::string& name : action.members) members.Append(name);
    object.Set("problem", action.problem).Set("members", std::move(members));
  }
  if (action.verb == OperatorVerb::kStartEpoch) object.Set("epoch", action.epoch);
  return object;
}

base::Bytes WriteOperatorAction(const OperatorAction& action) {
  const std::string text = OperatorActionJson(action).Dump();
  return {text.begin(), text.end()};
}

absl::StatusOr<OperatorAction> ReadOperatorAction(std::span<const uint8_t> bytes) {
  absl::StatusOr<OperatorAction> action = ActionFrom(base::AsText(bytes));
  if (action.ok()) return action;
  return base::DataLoss("the store holds an action of an operator that is none: {}",
                        base::Message(action.status()));
}

}  // namespace tacet::host
