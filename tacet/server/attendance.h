// Attendance: the members that are connected, and since when the others are absent.
#ifndef TACET_SERVER_ATTENDANCE_H_
#define TACET_SERVER_ATTENDANCE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tacet::server {

// A member is here as long as its last request is not older. Long polls end after 15 s, and a
// member that cannot reach the server tries again at least every 30 s.
inline constexpr uint64_t kHereSeconds = 90;

// Why a member's last call did not count as its presence.
enum class RefusedFor : uint8_t { kOtherClock, kCertificateEnded, kCertificateNotYetValid };
struct RefusedCall {
  uint64_t member = 0;
  RefusedFor why = RefusedFor::kOtherClock;
  int64_t ahead = 0;  // seconds by which its clock is ahead of the server's
  // For so long that every member that is connected has called in the meantime.
  bool settled = false;
};

// Kept in memory: after a start nobody has been here. Times are Unix seconds. Not thread-safe.
class Attendance {
 public:
  Attendance(size_t members, uint64_t now) : since_(now), seen_(members), refused_(members) {}

  void Note(uint64_t member, uint64_t now) {
    seen_[member] = now;
    refused_[member].reset();
  }
  void NoteRefused(const RefusedCall& call, uint64_t now);
  // For the members whose calls were refused lately, none taken since.
  std::vector<RefusedCall> RefusedNow(uint64_t now) const;

  // With a clock that was set back, what lies in the future is now.
  bool IsHere(uint64_t member, uint64_t now) const {
    return seen_[member].has_value() && *seen_[member] + kHereSeconds >= now;
  }
  bool SeenSince(uint64_t member, uint64_t time) const {
    return seen_[member].has_value() && *seen_[member] >= time;
  }
  // Nothing when it was not here since the start.
  std::optional<uint64_t> LastSeen(uint64_t member) const { return seen_[member]; }
  uint64_t CountHere(uint64_t now) const;

  size_t members() const { return seen_.size(); }
  // When it began to watch.
  uint64_t since() const { return since_; }

 private:
  struct Refused {
    RefusedCall call;
    uint64_t first = 0, last = 0;
  };

  uint64_t since_;
  std::vector<std::optional<uint64_t>> seen_;
  std::vector<std::optional<Refused>> refused_;  // since the member was seen last
};

}  // namespace tacet::server

#endif  // TACET_SERVER_ATTENDANCE_H_
