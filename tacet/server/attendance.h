// Attendance: the members that are connected, and since when the others are away.
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

// Kept in memory: after a start nobody has been here. Times are Unix seconds. Not thread-safe.
class Attendance {
 public:
  Attendance(size_t members, uint64_t now) : since_(now), seen_(members) {}

  void Note(uint64_t member, uint64_t now) { seen_[member] = now; }

  // Of a clock that was set back, what lies in the future is now.
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
  uint64_t since_;
  std::vector<std::optional<uint64_t>> seen_;
};

}  // namespace tacet::server

#endif  // TACET_SERVER_ATTENDANCE_H_
