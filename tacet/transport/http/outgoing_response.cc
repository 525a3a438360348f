#include "tacet/transport/http/outgoing_response.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/core.h"

namespace tacet::transport::http {
namespace {

// A response's source is read in pieces of a TLS record.
constexpr size_t kPieceBytes = 16 << 10;

std::string_view ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 416:
      return "Range Not Satisfiable";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Other";
  }
}

base::Bytes HeadOf(const Response& response, uint64_t length, bool keep_alive) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", response.status,
                  ReasonOf(response.status), response.content_type, length);
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  return {head.begin(), head.end()};
}

}  // namespace

void OutgoingResponse::SetInterim() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  out_.assign(kContinue.begin(), kContinue.end());
  out_at_ = 0;
  is_interim_ = true;
}

bool OutgoingResponse::TakeInterim() { return std::exchange(is_interim_, false); }

uint64_t OutgoingResponse::Set(Response response, bool keep_alive, bool wants_body) {
  more_ = std::move(response.more);
  more_left_ = more_ == nullptr ? 0 : more_->size();
  const uint64_t length = response.body.size() + more_left_;
  out_ = HeadOf(response, length, keep_alive);
  out_at_ = 0;
  then_ = {};
  is_interim_ = false;
  if (!wants_body) {
    more_.reset();
    more_left_ = 0;
  } else if (response.body.size() <= kPieceBytes) {
    out_.insert(out_.end(), response.body.begin(), response.body.end());
  } else {
    then_ = std::move(response.body);
  }
  return length;
}

std::optional<IoResult> OutgoingResponse::WriteTo(ByteStream& stream) {
  if (out_at_ == out_.size()) {
    out_at_ = 0;
    out_ = std::exchange(then_, {});
    if (out_.empty() && more_left_ > 0) {
      out_.resize(static_cast<size_t>(std::min<uint64_t>(more_left_, kPieceBytes)));
      more_left_ -= out_.size();
      if (!more_->Read(out_).ok()) return IoResult{.state = IoState::kEnded};
    }
    if (out_.empty()) {
      more_.reset();
      return std::nullopt;
    }
  }
  const IoResult result = stream.Write(std::span(out_).subspan(out_at_));
  if (result.state == IoState::kDone) out_at_ += result.bytes;
  return result;
}

}  // namespace tacet::transport::http
