// One connection of the HTTP server, from its first byte to its last.
#ifndef TACET_TRANSPORT_HTTP_CONNECTION_H_
#define TACET_TRANSPORT_HTTP_CONNECTION_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tacet/base/bytes.h"
#include "tacet/transport/http/byte_stream.h"
#include "tacet/transport/http/event_loop.h"
#include "tacet/transport/http/exchange.h"
#include "tacet/transport/http/outgoing_response.h"
#include "tacet/transport/http/request_parser.h"

namespace tacet::transport::http {

// Bounds of a connection in bytes and time.
struct ConnectionLimits {
  size_t max_head_bytes = 16 << 10;  // of an HTTP request's line and headers
  std::chrono::milliseconds hello =
      std::chrono::seconds(10);  // from accepting to the handshake's end
  std::chrono::milliseconds head =
      std::chrono::seconds(10);  // from a head's first byte to its last
  std::chrono::milliseconds idle = std::chrono::seconds(60);  // between two requests
  std::chrono::milliseconds stall =
      std::chrono::seconds(20);  // without a byte of a body, an answer
  // For a body or a response, and one second more for each `bytes_per_second` of it.
  std::chrono::milliseconds transfer = std::chrono::seconds(30);
  size_t bytes_per_second = 4096;
  // That a request may be parked. A client gives up a connection after 20 s without a byte.
  std::chrono::milliseconds long_poll = std::chrono::seconds(15);
  bool keep_alive = true;  // whether a connection may carry several requests
};

// Phase in which a connection is.
enum class Phase : uint8_t {
  kHandshake,
  kHead,  // between requests, or while a request's head comes in
  kBody,
  kParked,
  kResponse,
  kLingering,  // nothing more is said; what still comes is thrown away
};

// Until when a connection has to have got further.
class TransferTimes {
 public:
  using Clock = std::chrono::steady_clock;

  // `limits` must outlive it.
  explicit TransferTimes(const ConnectionLimits& limits) : limits_(limits) { NoteActivity(); }

  Clock::time_point deadline() const { return deadline_; }
  // When the other end sent or took something last. Thread-safe.
  int64_t last_active() const { return last_active_; }

  void Allow(std::chrono::milliseconds most) { deadline_ = Clock::now() + most; }
  void NoteActivity();
  // A byte of a body or a response has gone through.
  void NoteProgress();
  void BeginTransfer(uint64_t bytes);

 private:
  const ConnectionLimits& limits_;
  std::atomic<int64_t> last_active_ = 0;
  Clock::time_point deadline_;
  Clock::time_point transfer_end_;
};

// Continuation of a step.
enum class Next : uint8_t { kGoOn, kAwaitRead, kAwaitWrite, kAwaitCall, kEnd };

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // The server, as a connection sees it. Thread-safe; outlives all connections.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual const ConnectionLimits& limits() const = 0;
    virtual Service& service() = 0;
    virtual std::unique_ptr<ByteStream> NewStream(int socket) = 0;
    // Whether the server is about to end: answers what is parked, takes no further request.
    virtual bool draining() const = 0;
    virtual void OnAuthenticated(Connection& connection, const std::string& name) = 0;
    virtual void OnPhase(Connection& connection, Phase from, Phase to) = 0;
    // The connection is over; called once, last.
    virtual void OnEnded(Connection& connection, Phase in) = 0;
  };

  Connection(Owner& owner, std::shared_ptr<Waiter> waiter, std::string address);

  // Its first call.
  void Start();
  // A parked request looks for a response, an idle connection whether the server is draining.
  // Thread-safe.
  void Look();
  // Ends it soon. Thread-safe.
  void Cut();

  const std::string& address() const { return peer_.address; }
  // When the other end sent or took something last, on the steady clock. Thread-safe.
  int64_t last_active() const { return times_.last_active(); }

 private:
  void Run(Wake wake);
  void End();
  void Enter(Phase phase);

  Next Step();
  Next Shake();
  Next BeginHead();
  Next ReadHead();
  Next BeginExchange(RequestHead head);
  Next ReadBody();
  Next Receive(std::span<const uint8_t> bytes);
  Next OnParkedReadable();
  Next Respond(Response response);
  Next WriteResponse();
  Next AfterResponse();
  Next BeginLingering();
  Next Linger();

  struct IncomingRequest {
    std::optional<RequestParser> parser;
    base::Bytes received;     // and not yet used
    size_t looked_at = 0;     // of it, by the parser
    bool wants_body = false;  // of its response, as all but HEAD
    bool keep_alive = false;
    uint64_t body_left = 0;
  };

  // All of it is used in callbacks of the waiter only, unless it says otherwise.
  Owner& owner_;
  const std::shared_ptr<Waiter> waiter_;
  std::unique_ptr<ByteStream> stream_;  // once the first byte has come
  Peer peer_;
  std::atomic<bool> cut_ = false;
  TransferTimes times_;
  Phase phase_ = Phase::kHandshake;
  size_t worked_ = 0;  // bytes, in this callback
  IncomingRequest request_;
  std::unique_ptr<Exchange> exchange_;
  OutgoingResponse response_;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_CONNECTION_H_
