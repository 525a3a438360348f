// JSON as a stream of events, for texts that are too large to be held as a JsonValue.
#ifndef TACET_BASE_JSON_EVENTS_H_
#define TACET_BASE_JSON_EVENTS_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace tacet::base {

// Receives the parts of a text in their order. An error ends the reading.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;

  virtual absl::Status BeginObject() = 0;
  virtual absl::Status EndObject() = 0;
  virtual absl::Status BeginArray() = 0;
  virtual absl::Status EndArray() = 0;
  virtual absl::Status Key(std::string_view name) = 0;  // of the next value, escapes decoded
  virtual absl::Status String(std::string_view value) = 0;
  virtual absl::Status Number(double value) = 0;  // finite
  virtual absl::Status Word() = 0;                // true, false or null

  // Byte at which the part begins that is handed over, or that is not JSON.
  size_t position = 0;
};

// Reads one document, and nothing behind it. Returns the first error of `events`, or
// InvalidArgument ("a string does not end", "not JSON") where the text is not JSON or holds a
// number beyond the doubles. Keeps nothing but the string at hand, and one bit for each open object
// or array.
absl::Status ReadJsonEvents(std::string_view text, JsonEvents& events);

}  // namespace tacet::base

#endif  // TACET_BASE_JSON_EVENTS_H_
