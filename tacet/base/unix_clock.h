// Wall clock in whole seconds, passed as a parameter to code that needs the time.
#ifndef TACET_BASE_UNIX_CLOCK_H_
#define TACET_BASE_UNIX_CLOCK_H_

#include <cstdint>
#include <functional>

namespace tacet::base {

// Seconds since 1970.
using UnixClock = std::function<uint64_t()>;
uint64_t SystemUnixSeconds();

inline constexpr uint64_t kSecondsADay = 86'400;

}  // namespace tacet::base

#endif  // TACET_BASE_UNIX_CLOCK_H_
