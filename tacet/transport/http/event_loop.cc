#include "tacet/transport/http/event_loop.h"

#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "tacet/base/status.h"

namespace tacet::transport::http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Strand = asio::strand<asio::io_context::executor_type>;
using Stream = asio::posix::basic_stream_descriptor<Strand>;
using Timer = asio::basic_waitable_timer<Waiter::Clock, asio::wait_traits<Waiter::Clock>, Strand>;

// A wait has a number. Completions of an earlier one are late and change nothing.
class AsioWaiter final : public Waiter, public std::enable_shared_from_this<AsioWaiter> {
 public:
  explicit AsioWaiter(asio::io_context& io)
      : strand_(io.get_executor()), stream_(strand_), timer_(strand_) {}

  // The descriptor stays the caller's when it fails.
  bool Assign(int descriptor) {
    ErrorCode error;
    stream_.assign(descriptor, error);
    return !error;
  }

  int descriptor() const override { return const_cast<Stream&>(stream_).native_handle(); }

  void Await(Direction direction, Clock::time_point until, Callback then) override {
    then_ = std::move(then);
    const uint64_t wait = ++wait_;
    if (std::exchange(called_, false)) {
      asio::post(strand_, [self = shared_from_this(), wait] { self->End(wait, Wake::kCalled); });
      return;
    }
    if (direction != Direction::kNone) {
      stream_.async_wait(direction == Direction::kRead ? Stream::wait_read : Stream::wait_write,
                         [self = shared_from_this(), wait](ErrorCode error) {
                           if (error != asio::error::operation_aborted)
                             self->End(wait, Wake::kReady);
                         });
    }
    if (until == Clock::time_point::max()) return;
    timer_.expires_at(until);
    timer_.async_wait([self = shared_from_this(), wait](ErrorCode error) {
      if (!error) self->End(wait, Wake::kLate);
    });
  }

  void Yield(Callback then) override {
    asio::post(strand_,
               [self = shared_from_this(), next = std::move(then)] { next(Wake::kReady); });
  }

  void Call() override {
    asio::post(strand_, [self = shared_from_this()] {
      if (self->then_) {
        self->End(self->wait_, Wake::kCalled);
      } else {
        self->called_ = true;
      }
    });
  }

 private:
  void End(uint64_t wait, Wake wake) {
    if (wait != wait_ || !then_) return;
    ErrorCode ignored;
    timer_.cancel(ignored);
    stream_.cancel(ignored);
    std::exchange(then_, nullptr)(wake);
  }

  // Everything below is used on the strand only.
  Strand strand_;
  Stream stream_;
  Timer timer_;
  Callback then_;
  uint64_t wait_ = 0;
  bool called_ = false;
};

}  // namespace

class EventLoop::Impl {
 public:
  explicit Impl(size_t threads) : work_(asio::make_work_guard(io_)) {
    // Signals are for the thread that handles them. A write to a socket that the other end has
    // closed then raises none.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { io_.run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~Impl() {
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  asio::io_context& io() { return io_; }

 private:
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::thread> threads_;
};

EventLoop::EventLoop(size_t threads) : impl_(std::make_unique<Impl>(threads)) {}
EventLoop::~EventLoop() = default;

absl::StatusOr<std::shared_ptr<Waiter>> EventLoop::Watch(Descriptor descriptor) {
  auto waiter = std::make_shared<AsioWaiter>(impl_->io());
  if (!waiter->Assign(descriptor.number())) {
    return base::Unavailable("the system cannot watch another descriptor");
  }
  descriptor.Release();
  return waiter;
}

}  // namespace tacet::transport::http
