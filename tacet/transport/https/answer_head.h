// Head of the answer to a call, in the lines that libcurl gives.
#ifndef TACET_TRANSPORT_HTTPS_ANSWER_HEAD_H_
#define TACET_TRANSPORT_HTTPS_ANSWER_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tacet::transport::https {

// libcurl repairs heads. A head that names a server of tacet is believed only when it is written as
// RFC 9112 says, with the length of its body: docs/formats/transport.md has the list. Other heads
// are an intermediary's, whose answers are errors in any case.
class AnswerHead {
 public:
  // The next line with its end, of an interim answer or of the answer. An error ends the call.
  absl::Status Take(std::string_view line);

  // The headers of call_format.h; empty before the head has ended, and without them.
  std::string_view wire() const { return ended() ? wire_ : std::string_view(); }
  std::string_view status() const { return ended() ? status_ : std::string_view(); }
  std::optional<uint64_t> content_length() const { return content_length_; }

 private:
  bool ended() const { return expected_ == Expected::kTrailers; }
  absl::Status TakeLine(std::string_view line);
  absl::Status TakeStatusLine(std::string_view line);
  absl::Status TakeField(std::string_view line);

  enum class Expected { kStatusLine, kFields, kTrailers };

  Expected expected_ = Expected::kStatusLine;
  size_t bytes_ = 0;
  bool interim_ = false;
  absl::Status fault_;  // the first one
  std::string wire_, status_;
  std::optional<uint64_t> content_length_;
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_ANSWER_HEAD_H_
