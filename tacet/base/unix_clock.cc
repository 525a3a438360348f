#include "tacet/base/unix_clock.h"

#include <ctime>

namespace tacet::base {

uint64_t SystemUnixSeconds() { return static_cast<uint64_t>(std::time(nullptr)); }

}  // namespace tacet::base
