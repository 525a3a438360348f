// Orderly end of a long run, or of a server, when its user or the system asks for it.
#ifndef TACET_BASE_STOP_SIGNAL_H_
#define TACET_BASE_STOP_SIGNAL_H_

#include <chrono>
#include <csignal>
#include <string_view>

namespace tacet::base {

// While one lives, the first SIGINT or SIGTERM only sets a flag and prints `message`; a second one
// of either kind ends the process. One at a time.
class StopSignal {
 public:
  static constexpr std::string_view kAfterThisRound =
      "\ntacet: stopping after this round; once more to end at once\n";

  // `message` must live as long.
  explicit StopSignal(std::string_view message = kAfterThisRound);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Whether a signal arrived in this process's life.
  static bool Arrived();
  // Waits for so long, or until a signal has arrived; returns whether none has.
  static bool Wait(std::chrono::duration<double> time);

 private:
  struct sigaction interrupt_before_ {};
  struct sigaction terminate_before_ {};
};

// While one lives, SIGHUP sets a flag instead of ending the process. One at a time.
class ReloadSignal {
 public:
  ReloadSignal();
  ~ReloadSignal();
  ReloadSignal(const ReloadSignal&) = delete;
  ReloadSignal& operator=(const ReloadSignal&) = delete;

  // Whether a signal arrived since the last call.
  static bool Take();

 private:
  struct sigaction before_ {};
};

}  // namespace tacet::base

#endif  // TACET_BASE_STOP_SIGNAL_H_
