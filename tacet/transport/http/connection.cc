#include "tacet/transport/http/connection.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "fmt/core.h"
#include <sys/socket.h>

#include "tacet/base/status.h"

namespace tacet::transport::http {
namespace {

// Buffer of a thread into which connections read.
constexpr size_t kScratchBytes = 64 << 10;
// Bytes of one connection after which another one has its turn.
constexpr size_t kWorkAtOnce = 256 << 10;
// Cost of a step without bytes, in bytes.
constexpr size_t kStepBytes = 1 << 10;
// Reads of a body before it is handed on: each may bring a byte.
constexpr int kReadsAtOnce = 16;
// A response's source is read in pieces of a TLS record.
constexpr size_t kPieceBytes = 16 << 10;
// How long, and for how many bytes, a connection that is over takes what was on its way.
constexpr auto kLinger = std::chrono::seconds(2);
constexpr size_t kLingerBytes = 4 << 20;

std::span<uint8_t> Scratch() {
  thread_local base::Bytes scratch(kScratchBytes);
  return scratch;
}

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

Response RefusalOf(const absl::Status& status) {
  Response response{.status = status.code() == absl::StatusCode::kOutOfRange      ? 431
                              : status.code() == absl::StatusCode::kUnimplemented ? 411
                                                                                  : 400};
  const std::string text = base::Message(status) + "\n";
  response.body.assign(text.begin(), text.end());
  return response;
}

}  // namespace

Connection::Connection(Owner& owner, std::shared_ptr<Waiter> waiter, std::string address)
    : owner_(owner),
      waiter_(std::move(waiter)),
      peer_{.address = std::move(address), .certificate_name = std::nullopt} {
  NoteActivity();
}

void Connection::Start() {
  deadline_ = Clock::now() + owner_.limits().hello;
  waiter_->Yield([self = shared_from_this()](Wake) {
    // No memory for a stream before the other end has said something.
    self->waiter_->Await(Direction::kRead, self->deadline_, [self](Wake wake) { self->Run(wake); });
  });
}

void Connection::Look() { waiter_->Call(); }

void Connection::Cut() {
  cut_ = true;
  waiter_->Call();
}

void Connection::NoteActivity() {
  last_active_ = std::chrono::steady_clock::now().time_since_epoch().count();
}

// A byte of a body or a response has gone through.
void Connection::NoteProgress() {
  NoteActivity();
  deadline_ = std::min(Clock::now() + owner_.limits().stall, transfer_end_);
}

void Connection::BeginTransfer(uint64_t bytes) {
  const ConnectionLimits& limits = owner_.limits();
  transfer_end_ =
      Clock::now() + limits.transfer + std::chrono::seconds(bytes / limits.bytes_per_second);
  NoteProgress();
}

void Connection::Enter(Phase phase) {
  const Phase from = std::exchange(phase_, phase);
  if (from != phase) owner_.OnPhase(*this, from, phase);
}

void Connection::End() {
  exchange_.reset();
  more_.reset();
  if (stream_ != nullptr) stream_->Close();
  owner_.OnEnded(*this, phase_);
}

void Connection::Run(Wake wake) {
  if (cut_) return End();
  Next next = Next::kGoOn;
  if (wake == Wake::kLate) {
    next = OnLate();
  } else if (phase_ == Phase::kParked) {
    next = wake == Wake::kReady ? OnParkedReadable() : Next::kGoOn;
  }
  for (worked_ = 0; next == Next::kGoOn && worked_ < kWorkAtOnce; worked_ += kStepBytes) {
    next = Step();
  }
  const auto again = [self = shared_from_this()](Wake later) { self->Run(later); };
  switch (next) {
    case Next::kGoOn:
      return waiter_->Yield(again);
    case Next::kAwaitRead:
      return waiter_->Await(Direction::kRead, deadline_, again);
    case Next::kAwaitWrite:
      return waiter_->Await(Direction::kWrite, deadline_, again);
    case Next::kAwaitCall:
      return waiter_->Await(Direction::kNone, deadline_, again);
    case Next::kEnd:
      return End();
  }
}

Connection::Next Connection::NextOf(const IoResult& result) {
  switch (result.state) {
    case IoState::kDone:
      worked_ += result.bytes;
      return Next::kGoOn;
    case IoState::kAgain:
      worked_ = kWorkAtOnce;  // up to a buffer of small messages was worked on
      return Next::kGoOn;
    case IoState::kWantRead:
      return Next::kAwaitRead;
    case IoState::kWantWrite:
      return Next::kAwaitWrite;
    case IoState::kEnded:
      return Next::kEnd;
  }
  return Next::kEnd;
}

Connection::Next Connection::Step() {
  switch (phase_) {
    case Phase::kHandshake:
      return Shake();
    case Phase::kHead:
      return ReadHead();
    case Phase::kBody:
      return ReadBody();
    case Phase::kParked: {
      std::optional<Response> response =
          owner_.draining() ? exchange_->GiveUp() : exchange_->Look();
      if (response.has_value()) return Respond(*std::move(response));
      // As long as the other end may send more, that it went shows by reading.
      return received_.size() < owner_.limits().max_head_bytes ? Next::kAwaitRead
                                                               : Next::kAwaitCall;
    }
    case Phase::kResponse:
      return WriteResponse();
    case Phase::kLingering:
      return Linger();
  }
  return Next::kEnd;
}

Connection::Next Connection::OnLate() {
  return phase_ == Phase::kParked ? Respond(exchange_->GiveUp()) : Next::kEnd;
}

Connection::Next Connection::Shake() {
  if (owner_.draining()) return Next::kEnd;
  if (stream_ == nullptr) stream_ = owner_.NewStream(waiter_->descriptor());
  const IoResult result = stream_->Handshake();
  if (result.state == IoState::kEnded) return BeginLingering();  // so that its alert arrives
  if (result.state != IoState::kDone) return NextOf(result);
  peer_.certificate_name = stream_->certificate_name();
  NoteActivity();
  if (peer_.certificate_name.has_value()) owner_.OnAuthenticated(*this, *peer_.certificate_name);
  return BeginHead();
}

Connection::Next Connection::BeginHead() {
  Enter(Phase::kHead);
  parser_.emplace(owner_.limits().max_head_bytes);
  looked_at_ = 0;
  deadline_ = Clock::now() + (received_.empty() ? owner_.limits().idle : owner_.limits().head);
  return Next::kGoOn;
}

Connection::Next Connection::ReadHead() {
  if (looked_at_ < received_.size()) {
    looked_at_ = received_.size();
    absl::StatusOr<std::optional<RequestHead>> head = parser_->Parse(received_);
    if (!head.ok()) {
      keep_alive_ = false;
      wants_body_ = true;
      return Respond(RefusalOf(head.status()));
    }
    if (head->has_value()) return BeginExchange(**std::move(head));
  }
  if (owner_.draining() && received_.empty()) return Next::kEnd;
  const size_t room = owner_.limits().max_head_bytes - received_.size();
  const std::span<uint8_t> scratch = Scratch().first(std::min(room, kScratchBytes));
  const IoResult result = stream_->Read(scratch);
  if (result.state != IoState::kDone) return NextOf(result);
  NoteActivity();
  if (received_.empty()) deadline_ = Clock::now() + owner_.limits().head;
  received_.insert(received_.end(), scratch.begin(),
                   scratch.begin() + static_cast<ptrdiff_t>(result.bytes));
  return NextOf(result);
}

Connection::Next Connection::BeginExchange(RequestHead head) {
  received_.erase(received_.begin(), received_.begin() + static_cast<ptrdiff_t>(head.bytes));
  if (received_.empty()) received_ = {};  // an idle connection keeps no buffer
  parser_.reset();
  body_left_ = head.content_length;
  wants_body_ = head.method != "HEAD";
  keep_alive_ = owner_.limits().keep_alive && head.keep_alive;
  auto begun = owner_.service().Begin(head, peer_);
  if (auto* const response = std::get_if<Response>(&begun)) return Respond(std::move(*response));
  exchange_ = std::get<std::unique_ptr<Exchange>>(std::move(begun));
  Enter(Phase::kBody);
  BeginTransfer(body_left_);
  if (!head.expects_continue || body_left_ == 0 || !received_.empty()) return Next::kGoOn;
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  out_.assign(kContinue.begin(), kContinue.end());
  out_at_ = 0;
  is_interim_ = true;
  Enter(Phase::kResponse);
  return Next::kGoOn;
}

Connection::Next Connection::ReadBody() {
  if (body_left_ == 0) return FinishBody();
  if (!received_.empty()) {
    const base::Bytes first = std::move(received_);
    const size_t size = static_cast<size_t>(std::min<uint64_t>(first.size(), body_left_));
    received_.assign(first.begin() + static_cast<ptrdiff_t>(size), first.end());
    return Receive(std::span(first).first(size));
  }
  const std::span<uint8_t> scratch =
      Scratch().first(static_cast<size_t>(std::min<uint64_t>(body_left_, kScratchBytes)));
  size_t size = 0;
  IoResult result{.state = IoState::kDone};
  for (int reads = 0; reads < kReadsAtOnce && size < scratch.size(); ++reads) {
    result = stream_->Read(scratch.subspan(size));
    if (result.state != IoState::kDone) break;
    size += result.bytes;
    worked_ += kStepBytes;
  }
  if (size == 0) return NextOf(result);
  worked_ += size;
  // A read that ended otherwise is repeated by the next step.
  return Receive(scratch.first(size));
}

Connection::Next Connection::Receive(std::span<const uint8_t> bytes) {
  NoteProgress();
  body_left_ -= bytes.size();
  std::optional<Response> response = exchange_->Receive(bytes);
  return response.has_value() ? Respond(*std::move(response)) : Next::kGoOn;
}

Connection::Next Connection::FinishBody() {
  std::optional<Response> response = exchange_->Finish();
  if (response.has_value()) return Respond(*std::move(response));
  Enter(Phase::kParked);
  deadline_ = Clock::now() + owner_.limits().long_poll;
  return Next::kGoOn;  // looks once: there may be a response since
}

Connection::Next Connection::OnParkedReadable() {
  const size_t room = owner_.limits().max_head_bytes - received_.size();
  const std::span<uint8_t> scratch = Scratch().first(std::min(room, kScratchBytes));
  const IoResult result = stream_->Read(scratch);
  received_.insert(received_.end(), scratch.begin(),
                   scratch.begin() + static_cast<ptrdiff_t>(result.bytes));
  return result.state == IoState::kEnded ? Next::kEnd : Next::kGoOn;
}

Connection::Next Connection::Respond(Response response) {
  exchange_.reset();
  if (body_left_ > 0 || owner_.draining()) keep_alive_ = false;
  more_ = std::move(response.more);
  more_left_ = more_ == nullptr ? 0 : more_->size();
  const uint64_t length = response.body.size() + more_left_;
  out_ = HeadOf(response, length, keep_alive_);
  out_at_ = 0;
  then_ = {};
  if (!wants_body_) {
    more_.reset();
    more_left_ = 0;
  } else if (response.body.size() <= kPieceBytes) {
    out_.insert(out_.end(), response.body.begin(), response.body.end());
  } else {
    then_ = std::move(response.body);
  }
  is_interim_ = false;
  Enter(Phase::kResponse);
  BeginTransfer(length);
  return Next::kGoOn;
}

Connection::Next Connection::WriteResponse() {
  if (out_at_ < out_.size()) {
    const IoResult result = stream_->Write(std::span(out_).subspan(out_at_));
    if (result.state == IoState::kDone) {
      out_at_ += result.bytes;
      NoteProgress();
    }
    return NextOf(result);
  }
  out_at_ = 0;
  if (!then_.empty()) {
    out_ = std::exchange(then_, {});
    return Next::kGoOn;
  }
  if (more_left_ > 0) {
    out_.resize(static_cast<size_t>(std::min<uint64_t>(more_left_, kPieceBytes)));
    more_left_ -= out_.size();
    return more_->Read(out_).ok() ? Next::kGoOn : Next::kEnd;
  }
  out_ = {};
  more_.reset();
  return AfterResponse();
}

Connection::Next Connection::AfterResponse() {
  if (std::exchange(is_interim_, false)) {
    Enter(Phase::kBody);
    BeginTransfer(body_left_);
    return Next::kGoOn;
  }
  if (keep_alive_) return BeginHead();
  return body_left_ == 0 && received_.empty() ? Next::kEnd : BeginLingering();
}

// To close at once would make the system throw away what was said, because bytes are on their way.
Connection::Next Connection::BeginLingering() {
  Enter(Phase::kLingering);
  stream_->Close();
  stream_.reset();
  ::shutdown(waiter_->descriptor(), SHUT_WR);
  deadline_ = Clock::now() + kLinger;
  body_left_ = kLingerBytes;
  return Next::kGoOn;
}

Connection::Next Connection::Linger() {
  const IoResult result = Discard(waiter_->descriptor(), kScratchBytes);
  body_left_ -= std::min<uint64_t>(body_left_, result.bytes);
  return body_left_ == 0 ? Next::kEnd : NextOf(result);
}

}  // namespace tacet::transport::http
