#include "tacet/transport/https/call_clock.h"

#include <algorithm>
#include <utility>

#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace tacet::transport::https {

void CallClock::Begin(std::chrono::milliseconds most, std::chrono::milliseconds most_silence,
                      uint64_t request_bytes) {
  request_end_ = end_ = Clock::now() + most + TimeFor(request_bytes);
  most_silence_ = most_silence;
  last_byte_.reset();
  unacknowledged_ = 0;
}

int64_t CallClock::Unacknowledged() const {
  int64_t all = 0;
  for (const int socket : sockets_) {
    int bytes = 0;
    if (::ioctl(socket, SIOCOUTQ, &bytes) == 0) all += bytes;
  }
  return all;
}

CallClock::Verdict CallClock::Look() {
  const int64_t now_unacknowledged = Unacknowledged();
  const bool acknowledged = now_unacknowledged < std::exchange(unacknowledged_, now_unacknowledged);
  if (acknowledged && last_byte_.has_value()) NoteBytes();
  const Clock::time_point now = Clock::now();
  if (now >= end_) return Verdict::kLate;
  const bool silent = last_byte_.has_value() && now - *last_byte_ >= most_silence_;
  return silent ? Verdict::kSilent : Verdict::kGoOn;
}

std::chrono::milliseconds CallClock::UntilNextLook() const {
  const Clock::time_point next =
      last_byte_.has_value() ? std::min(end_, *last_byte_ + most_silence_) : end_;
  return std::max(std::chrono::milliseconds(1),
                  std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()));
}

}  // namespace tacet::transport::https
