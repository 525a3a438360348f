#include "tacet/transport/http/connection.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "absl/status/status.h"
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
// The time, and the bytes, for which a connection that is over takes what was on its way.
constexpr auto kLinger = std::chrono::seconds(2);
constexpr size_t kLingerBytes = 4 << 20;

std::span<uint8_t> Scratch() {
  thread_local base::Bytes scratch(kScratchBytes);
  return scratch;
}

Response RefusalOf(const absl::Status& status) {
  Response response{.status = status.code() == absl::StatusCode::kOutOfRange      ? 431
                              : status.code() == absl::StatusCode::kUnimplemented ? 411
                                                                                  : 400};
  const std::string text = base::Message(status) + "\n";
  response.body.assign(text.begin(), text.end());
  return response;
}

// The step after one that read or wrote; `worked` grows by its bytes.
Next NextOf(const IoResult& result, size_t& worked) {
  switch (result.state) {
    case IoState::kDone:
      worked += result.bytes;
      return Next::kGoOn;
    case IoState::kAgain:
      worked = kWorkAtOnce;  // up to a buffer of small messages was worked on
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

}  // namespace

void TransferTimes::NoteActivity() { last_active_ = Clock::now().time_since_epoch().count(); }

void TransferTimes::NoteProgress() {
  NoteActivity();
  deadline_ = std::min(Clock::now() + limits_.stall, transfer_end_);
}

void TransferTimes::BeginTransfer(uint64_t bytes) {
  transfer_end_ =
      Clock::now() + limits_.transfer + std::chrono::seconds(bytes / limits_.bytes_per_second);
  NoteProgress();
}

Connection::Connection(Owner& owner, std::shared_ptr<Waiter> waiter, std::string address)
    : owner_(owner),
      waiter_(std::move(waiter)),
      peer_{.address = std::move(address), .certificate_name = std::nullopt},
      times_(owner.limits()) {}

void Connection::Start() {
  times_.Allow(owner_.limits().hello);
  waiter_->Yield([self = shared_from_this()](Wake) {
    // No memory for a stream before the other end has said something.
    self->waiter_->Await(Direction::kRead, self->times_.deadline(),
                         [self](Wake wake) { self->Run(wake); });
  });
}

void Connection::Look() { waiter_->Call(); }

void Connection::Cut() {
  cut_ = true;
  waiter_->Call();
}

void Connection::Enter(Phase phase) {
  const Phase from = std::exchange(phase_, phase);
  if (from != phase) owner_.OnPhase(*this, from, phase);
}

void Connection::End() {
  exchange_.reset();
  response_.Drop();
  if (stream_ != nullptr) stream_->Close();
  owner_.OnEnded(*this, phase_);
}

void Connection::Run(Wake wake) {
  if (cut_) return End();
  Next next = Next::kGoOn;
  if (wake == Wake::kLate) {
    next = phase_ == Phase::kParked ? Respond(exchange_->GiveUp()) : Next::kEnd;
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
      return waiter_->Await(Direction::kRead, times_.deadline(), again);
    case Next::kAwaitWrite:
      return waiter_->Await(Direction::kWrite, times_.deadline(), again);
    case Next::kAwaitCall:
      return waiter_->Await(Direction::kNone, times_.deadline(), again);
    case Next::kEnd:
      return End();
  }
}

Next Connection::Step() {
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
      return request_.received.size() < owner_.limits().max_head_bytes ? Next::kAwaitRead
                                                                       : Next::kAwaitCall;
    }
    case Phase::kResponse:
      return WriteResponse();
    case Phase::kLingering:
      return Linger();
  }
  return Next::kEnd;
}

Next Connection::Shake() {
  if (owner_.draining()) return Next::kEnd;
  if (stream_ == nullptr) stream_ = owner_.NewStream(waiter_->descriptor());
  const IoResult result = stream_->Handshake();
  if (result.state == IoState::kEnded) return BeginLingering();  // so that its alert arrives
  if (result.state != IoState::kDone) return NextOf(result, worked_);
  peer_.certificate_name = stream_->certificate_name();
  times_.NoteActivity();
  if (peer_.certificate_name.has_value()) owner_.OnAuthenticated(*this, *peer_.certificate_name);
  return BeginHead();
}

Next Connection::BeginHead() {
  Enter(Phase::kHead);
  request_.parser.emplace(owner_.limits().max_head_bytes);
  request_.looked_at = 0;
  times_.Allow(request_.received.empty() ? owner_.limits().idle : owner_.limits().head);
  return Next::kGoOn;
}

Next Connection::ReadHead() {
  if (request_.looked_at < request_.received.size()) {
    request_.looked_at = request_.received.size();
    absl::StatusOr<std::optional<RequestHead>> head = request_.parser->Parse(request_.received);
    if (!head.ok()) {
      request_.keep_alive = false;
      request_.wants_body = true;
      return Respond(RefusalOf(head.status()));
    }
    if (head->has_value()) return BeginExchange(**std::move(head));
  }
  if (owner_.draining() && request_.received.empty()) return Next::kEnd;
  const size_t room = owner_.limits().max_head_bytes - request_.received.size();
  const std::span<uint8_t> scratch = Scratch().first(std::min(room, kScratchBytes));
  const IoResult result = stream_->Read(scratch);
  if (result.state != IoState::kDone) return NextOf(result, worked_);
  times_.NoteActivity();
  if (request_.received.empty()) times_.Allow(owner_.limits().head);
  request_.received.insert(request_.received.end(), scratch.begin(),
                           scratch.begin() + static_cast<ptrdiff_t>(result.bytes));
  return NextOf(result, worked_);
}

Next Connection::BeginExchange(RequestHead head) {
  request_.received.erase(request_.received.begin(),
                          request_.received.begin() + static_cast<ptrdiff_t>(head.bytes));
  if (request_.received.empty()) request_.received = {};  // an idle connection keeps no buffer
  request_.parser.reset();
  request_.body_left = head.content_length;
  request_.wants_body = head.method != "HEAD";
  request_.keep_alive = owner_.limits().keep_alive && head.keep_alive;
  auto begun = owner_.service().Begin(head, peer_);
  if (auto* const response = std::get_if<Response>(&begun)) return Respond(std::move(*response));
  exchange_ = std::get<std::unique_ptr<Exchange>>(std::move(begun));
  Enter(Phase::kBody);
  times_.BeginTransfer(request_.body_left);
  if (!head.expects_continue || request_.body_left == 0 || !request_.received.empty())
    return Next::kGoOn;
  response_.SetInterim();
  Enter(Phase::kResponse);
  return Next::kGoOn;
}

Next Connection::ReadBody() {
  if (request_.body_left == 0) {
    std::optional<Response> response = exchange_->Finish();
    if (response.has_value()) return Respond(*std::move(response));
    Enter(Phase::kParked);
    times_.Allow(owner_.limits().long_poll);
    return Next::kGoOn;  // looks once: there may be a response since
  }
  if (!request_.received.empty()) {
    const base::Bytes first = std::move(request_.received);
    const size_t size = static_cast<size_t>(std::min<uint64_t>(first.size(), request_.body_left));
    request_.received.assign(first.begin() + static_cast<ptrdiff_t>(size), first.end());
    return Receive(std::span(first).first(size));
  }
  const std::span<uint8_t> scratch =
      Scratch().first(static_cast<size_t>(std::min<uint64_t>(request_.body_left, kScratchBytes)));
  size_t size = 0;
  IoResult result{.state = IoState::kDone};
  for (int reads = 0; reads < kReadsAtOnce && size < scratch.size(); ++reads) {
    result = stream_->Read(scratch.subspan(size));
    if (result.state != IoState::kDone) break;
    size += result.bytes;
    worked_ += kStepBytes;
  }
  if (size == 0) return NextOf(result, worked_);
  worked_ += size;
  // A read that ended otherwise is repeated by the next step.
  return Receive(scratch.first(size));
}

Next Connection::Receive(std::span<const uint8_t> bytes) {
  times_.NoteProgress();
  request_.body_left -= bytes.size();
  std::optional<Response> response = exchange_->Receive(bytes);
  return response.has_value() ? Respond(*std::move(response)) : Next::kGoOn;
}

Next Connection::OnParkedReadable() {
  const size_t room = owner_.limits().max_head_bytes - request_.received.size();
  const std::span<uint8_t> scratch = Scratch().first(std::min(room, kScratchBytes));
  const IoResult result = stream_->Read(scratch);
  request_.received.insert(request_.received.end(), scratch.begin(),
                           scratch.begin() + static_cast<ptrdiff_t>(result.bytes));
  return result.state == IoState::kEnded ? Next::kEnd : Next::kGoOn;
}

Next Connection::Respond(Response response) {
  exchange_.reset();
  if (request_.body_left > 0 || owner_.draining()) request_.keep_alive = false;
  const uint64_t length =
      response_.Set(std::move(response), request_.keep_alive, request_.wants_body);
  Enter(Phase::kResponse);
  times_.BeginTransfer(length);
  return Next::kGoOn;
}

Next Connection::WriteResponse() {
  const std::optional<IoResult> result = response_.WriteTo(*stream_);
  if (!result.has_value()) return AfterResponse();
  if (result->state == IoState::kDone) times_.NoteProgress();
  return NextOf(*result, worked_);
}

Next Connection::AfterResponse() {
  if (response_.TakeInterim()) {
    Enter(Phase::kBody);
    times_.BeginTransfer(request_.body_left);
    return Next::kGoOn;
  }
  if (request_.keep_alive) return BeginHead();
  return request_.body_left == 0 && request_.received.empty() ? Next::kEnd : BeginLingering();
}

// To close at once would make the system throw away what was said, because bytes are on their way.
Next Connection::BeginLingering() {
  Enter(Phase::kLingering);
  stream_->Close();
  stream_.reset();
  ::shutdown(waiter_->descriptor(), SHUT_WR);
  times_.Allow(kLinger);
  request_.body_left = kLingerBytes;
  return Next::kGoOn;
}

Next Connection::Linger() {
  const IoResult result = Discard(waiter_->descriptor(), kScratchBytes);
  request_.body_left -= std::min<uint64_t>(request_.body_left, result.bytes);
  return request_.body_left == 0 ? Next::kEnd : NextOf(result, worked_);
}

}  // namespace tacet::transport::http
