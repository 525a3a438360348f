#include "tacet/server/attendance.h"

namespace tacet::server {

uint64_t Attendance::CountHere(uint64_t now) const {
  uint64_t here = 0;
  for (uint64_t member = 0; member < seen_.size(); ++member) here += IsHere(member, now) ? 1 : 0;
  return here;
}

}  // namespace tacet::server
