#include "apps/tacet/stop_signal.h"

#include <string_view>

#include <unistd.h>

namespace tacet::app {
namespace {

volatile std::sig_atomic_t arrived = 0;

// Only what a signal handler may do.
void Remember(int) {
  arrived = 1;
  constexpr std::string_view kMessage =
      "\ntacet: stopping after this round; once more to end at once\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
}

}  // namespace

StopSignal::StopSignal() {
  struct sigaction once {};
  once.sa_handler = Remember;
  once.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &once, &interrupt_before_);
  ::sigaction(SIGTERM, &once, &terminate_before_);
}

StopSignal::~StopSignal() {
  ::sigaction(SIGINT, &interrupt_before_, nullptr);
  ::sigaction(SIGTERM, &terminate_before_, nullptr);
}

bool StopSignal::Arrived() { return arrived != 0; }

}  // namespace tacet::app
