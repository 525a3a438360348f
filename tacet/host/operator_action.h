// Actions of operators at a server's page: what they ask for, and what the store keeps of it
// (docs/formats/server-page.md, "Actions").
#ifndef TACET_HOST_OPERATOR_ACTION_H_
#define TACET_HOST_OPERATOR_ACTION_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/json.h"

namespace tacet::host {

enum class OperatorVerb : uint8_t { kPause, kResume, kAcknowledge, kStartEpoch };
std::string_view OperatorVerbName(OperatorVerb verb);

struct OperatorAction {
  OperatorVerb verb = OperatorVerb::kPause;
  std::string note = {};                  // one line; may be empty, but not of kAcknowledge
  std::string problem = {};               // kAcknowledge: its code
  std::vector<std::string> members = {};  // kAcknowledge: whom the problem concerned
  uint32_t epoch = 0;                     // kStartEpoch
  std::string by = {};                    // name of the operator
  uint64_t at = 0;                        // Unix seconds

  friend bool operator==(const OperatorAction&, const OperatorAction&) = default;
};

// The action that an operator asks for.
struct OperatorRequest {
  uint64_t revision = 0;     // number of actions that the operator has seen
  OperatorAction action;     // without `members`, `by` and `at`
  bool end_attempt = false;  // kStartEpoch: also while an attempt is open
};

inline constexpr size_t kMaxNoteBytes = 500;
inline constexpr size_t kMaxOperatorRequestBytes = 4096;

// InvalidArgument says which field is wrong. A note is valid UTF-8 without characters that a
// terminal or a browser acts on.
absl::StatusOr<OperatorRequest> ReadOperatorRequest(std::string_view text);

// The fields of an action that it has.
base::JsonValue OperatorActionJson(const OperatorAction& action);
// As the store keeps it.
base::Bytes WriteOperatorAction(const OperatorAction& action);
// DataLoss for bytes that are none.
absl::StatusOr<OperatorAction> ReadOperatorAction(std::span<const uint8_t> bytes);

}  // namespace tacet::host

#endif  // TACET_HOST_OPERATOR_ACTION_H_
