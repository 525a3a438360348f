// Library that shifts the wall clock of a process, loaded before all other libraries (LD_PRELOAD).
// The environment variable SHIFTED_CLOCK names a file with the shift in seconds, a signed number of
// eight bytes. The clock jumps when the file is written. Other clocks are unchanged.
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

const volatile int64_t* shift = nullptr;

__attribute__((constructor)) void MapShift() {
  const char* const path = std::getenv("SHIFTED_CLOCK");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) std::abort();
  void* const mapped = ::mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) std::abort();
  ::close(file);
  shift = static_cast<const volatile int64_t*>(mapped);
}

int64_t Shift() { return shift == nullptr ? 0 : *shift; }

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto next = Next<int(clockid_t, timespec*)>("clock_gettime");
  const int result = next(clock, now);
  const bool wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result == 0 && wall) now->tv_sec += Shift();
  return result;
}

int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  *now = {.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* now) noexcept {
  timespec precise{};
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}

// A thread that waits until some time of the shifted clock (as Abseil's mutexes do) means the
// machine's time by which that comes. Every system call has at most six arguments, and takes what
// is there.
long syscall(long number, ...) noexcept {
  static const auto next = Next<long(long, ...)>("syscall");
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  timespec until{};
  if (number == SYS_futex && (arguments[1] & FUTEX_CLOCK_REALTIME) != 0 && arguments[3] != 0) {
    until = *reinterpret_cast<const timespec*>(arguments[3]);
    until.tv_sec -= Shift();
    arguments[3] = reinterpret_cast<long>(&until);
  }
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}

}  // extern "C"
