#include "tacet/transport/https/answer_head.h"

#include <algorithm>

#include "tacet/base/status.h"
#include "tacet/transport/http/header_field.h"
#include "tacet/transport/https/call_format.h"

namespace tacet::transport::https {
namespace {

// For all heads of an answer.
constexpr size_t kMaxBytes = 64 << 10;

absl::Status SetOnce(std::string_view name, std::string_view value, std::string& out) {
  if (!out.empty()) return base::InvalidArgument("the header {} comes more than once", name);
  if (value.empty()) return base::InvalidArgument("the header {} is empty", name);
  out = value;
  return absl::OkStatus();
}

}  // namespace

absl::Status AnswerHead::Take(std::string_view line) {
  bytes_ += line.size();
  if (bytes_ > kMaxBytes) {
    return base::InvalidArgument("its headers have more than {} bytes", kMaxBytes);
  }
  if (ended()) return absl::OkStatus();  // trailers say nothing
  fault_.Update(TakeLine(line));
  if (!ended() || wire_.empty()) return absl::OkStatus();
  if (!content_length_.has_value()) {
    fault_.Update(base::InvalidArgument("the header Content-Length is missing"));
  }
  if (fault_.ok()) return absl::OkStatus();
  return base::InvalidArgument("its answer is not HTTP/1.1: {}", base::Message(fault_));
}

absl::Status AnswerHead::TakeLine(std::string_view with_end) {
  // Where libcurl ends a head.
  if (with_end.starts_with('\r') || with_end.starts_with('\n')) {
    expected_ = interim_ ? Expected::kStatusLine : Expected::kTrailers;
  }
  TACET_ASSIGN_OR_RETURN(const std::string_view line, http::WithoutLineEnd(with_end));
  if (line.empty()) return absl::OkStatus();
  if (expected_ == Expected::kFields) return TakeField(line);
  expected_ = Expected::kFields;
  return TakeStatusLine(line);
}

absl::Status AnswerHead::TakeStatusLine(std::string_view line) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  constexpr size_t kDigits = 3;
  const std::string_view code = line.substr(std::min(kVersion.size(), line.size()), kDigits);
  const std::string_view rest = line.substr(std::min(kVersion.size() + kDigits, line.size()));
  const bool is_code = code.size() == kDigits && http::ReadContentLength(code).has_value();
  interim_ = code.starts_with('1');
  const bool is_reason = rest.starts_with(' ') && http::IsText(rest);
  if (line.starts_with(kVersion) && is_code && is_reason && code != "101") return absl::OkStatus();
  return base::InvalidArgument("the first line is not HTTP/1.1 STATUS REASON");
}

absl::Status AnswerHead::TakeField(std::string_view line) {
  TACET_ASSIGN_OR_RETURN(const http::HeaderField field, http::ReadHeaderField(line));
  if (field.Is("Transfer-Encoding")) {
    return base::InvalidArgument("the body has a Transfer-Encoding");
  }
  if (field.Is("Content-Length")) {
    if (content_length_.has_value()) {
      return base::InvalidArgument("the header Content-Length comes more than once");
    }
    content_length_ = http::ReadContentLength(field.value);
    if (!content_length_.has_value()) return base::InvalidArgument("Content-Length is no length");
  }
  if (interim_) return absl::OkStatus();
  if (field.Is(kWireHeader)) return SetOnce(kWireHeader, field.value, wire_);
  if (field.Is(kStatusHeader)) return SetOnce(kStatusHeader, field.value, status_);
  return absl::OkStatus();
}

}  // namespace tacet::transport::https
