// Time that a call has on its connection.
#ifndef TACET_TRANSPORT_HTTPS_CALL_CLOCK_H_
#define TACET_TRANSPORT_HTTPS_CALL_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace tacet::transport::https {

// A firewall that loses its state forgets a connection: no byte passes any more, and neither end is
// told. So a call ends once no byte has come or gone for a while. The system takes up to megabytes
// that are sent and passes them on later: a byte has gone when the other end's system has
// acknowledged it, too. A call whose bytes flow ends at a time that follows from their number.
class CallClock {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict : uint8_t { kGoOn, kSilent, kLate };

  // Slowest rate of a line, in bytes a second. It is the server's, too (ConnectionLimits).
  static constexpr uint64_t kBytesPerSecond = 4096;

  // For a call that has `most` and a second more for each kBytesPerSecond that it carries.
  void Begin(std::chrono::milliseconds most, std::chrono::milliseconds most_silence,
             uint64_t request_bytes);
  // The connection stands; bytes of the request or of the answer have moved.
  void NoteBytes() { last_byte_ = Clock::now(); }
  // The answer has said its length.
  void NoteAnswer(uint64_t bytes) { end_ = request_end_ + TimeFor(bytes); }

  // The sockets that the connection has, or tries.
  void NoteSocket(int socket) { sockets_.push_back(socket); }
  void ForgetSocket(int socket) { std::erase(sockets_, socket); }

  Verdict Look();
  // Until the next look that may find something else, if nothing moves; at least a millisecond.
  std::chrono::milliseconds UntilNextLook() const;

 private:
  static std::chrono::seconds TimeFor(uint64_t bytes) {
    return std::chrono::seconds(bytes / kBytesPerSecond);
  }
  // Bytes that were sent and not acknowledged.
  int64_t Unacknowledged() const;

  Clock::time_point request_end_, end_;
  std::chrono::milliseconds most_silence_{0};
  std::optional<Clock::time_point> last_byte_;  // nothing until the connection stands
  int64_t unacknowledged_ = 0;
  std::vector<int> sockets_;
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_CALL_CLOCK_H_
