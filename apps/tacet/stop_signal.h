// Ending a long run between two rounds when its user, or the system, asks for it.
#ifndef TACET_APPS_TACET_STOP_SIGNAL_H_
#define TACET_APPS_TACET_STOP_SIGNAL_H_

#include <csignal>

namespace tacet::app {

// While one lives, the first SIGINT or SIGTERM only sets a flag; a second one ends the process as
// it always does. One at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // Whether a signal arrived in this process's life.
  static bool Arrived();

 private:
  struct sigaction interrupt_before_ {};
  struct sigaction terminate_before_ {};
};

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_STOP_SIGNAL_H_
