#include "tacet/base/stop_signal.h"

#include <atomic>
#include <string_view>
#include <thread>

#include <unistd.h>

namespace tacet::base {
namespace {

// Written by handlers, read by every thread.
static_assert(std::atomic<bool>::is_always_lock_free);
std::atomic<bool> arrived = false;
std::atomic<bool> reload_arrived = false;
std::string_view stop_message;

// Only what a signal handler may do.
void Remember(int) {
  arrived = true;
  for (const int number : {SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, stop_message.data(), stop_message.size());
}
void RememberReload(int) { reload_arrived = true; }

}  // namespace

StopSignal::StopSignal(std::string_view message) {
  stop_message = message;
  struct sigaction once {};
  once.sa_handler = Remember;
  once.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &once, &interrupt_before_);
  ::sigaction(SIGTERM, &once, &terminate_before_);
}

StopSignal::~StopSignal() {
  ::sigaction(SIGINT, &interrupt_before_, nullptr);
  ::sigaction(SIGTERM, &terminate_before_, nullptr);
}

bool StopSignal::Arrived() { return arrived; }

bool StopSignal::Wait(std::chrono::duration<double> time) {
  constexpr std::chrono::milliseconds kLook(50);
  const auto end = std::chrono::steady_clock::now() + time;
  while (!Arrived() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kLook);
  return !Arrived();
}

ReloadSignal::ReloadSignal() {
  struct sigaction each {};
  each.sa_handler = RememberReload;
  each.sa_flags = SA_RESTART;
  ::sigaction(SIGHUP, &each, &before_);
}

ReloadSignal::~ReloadSignal() { ::sigaction(SIGHUP, &before_, nullptr); }

bool ReloadSignal::Take() { return reload_arrived.exchange(false); }

}  // namespace tacet::base
