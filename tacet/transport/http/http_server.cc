#include "tacet/transport/http/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <thread>

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>

#include "tacet/base/mutex.h"
#include "tacet/base/status.h"

namespace tacet::transport::http {
namespace {

using Clock = std::chrono::steady_clock;

// One connection that ends by itself: after so many bytes in, after so long, or when the server
// stops.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(int socket, const HttpServerSpec& spec, const std::atomic<bool>& stopping)
      : socket_(socket),
        left_(spec.most_request_bytes),
        end_of_time_(Clock::now() + std::chrono::milliseconds(spec.milliseconds)),
        stopping_(stopping) {}

  bool is_readable() const override { return begin_ < end_ || Await(POLLIN); }
  bool is_writable() const override { return Await(POLLOUT); }

  ssize_t read(char* out, size_t size) override {
    if (begin_ == end_) {
      const ssize_t count = Receive();
      if (count <= 0) return count;
      begin_ = 0;
      end_ = static_cast<size_t>(count);
    }
    const size_t count = std::min(size, end_ - begin_);
    std::memcpy(out, buffer_.data() + begin_, count);
    begin_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* bytes, size_t size) override {
    return Await(POLLOUT) ? ::send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
  }

  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  ssize_t Receive() {
    const size_t room = std::min(left_, buffer_.size());
    if (room == 0 || !Await(POLLIN)) return -1;
    const ssize_t count = ::recv(socket_, buffer_.data(), room, MSG_DONTWAIT);
    if (count > 0) left_ -= static_cast<size_t>(count);
    return count;
  }

  bool Await(short event) const {
    constexpr auto kLook = std::chrono::milliseconds(100);  // between looks whether to stop
    while (!stopping_) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end_of_time_ - Clock::now());
      if (left.count() <= 0) return false;
      pollfd waited{.fd = socket_, .events = event, .revents = 0};
      const int ready = ::poll(&waited, 1, static_cast<int>(std::min(left, kLook).count()));
      if (ready > 0) return (waited.revents & (event | POLLHUP)) != 0;
      if (ready < 0 && errno != EINTR) return false;
    }
    return false;
  }

  int socket_;
  size_t left_;  // bytes that may still come
  Clock::time_point end_of_time_;
  const std::atomic<bool>& stopping_;
  std::array<char, 1024> buffer_{};
  size_t begin_ = 0, end_ = 0;
};

// A fixed number of threads. Who adds to a full queue waits, so that connections beyond it stay
// with the operating system instead of taking descriptors here.
class BoundedQueue final : public httplib::TaskQueue {
 public:
  BoundedQueue(uint32_t threads, uint32_t waiting) : waiting_(waiting) {
    for (uint32_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }

  void enqueue(std::function<void()> job) override {
    base::MutexLock lock(mutex_);
    while (jobs_.size() >= waiting_) room_.Wait(mutex_);
    jobs_.push_back(std::move(job));
    work_.Signal();
  }

  void shutdown() override {
    {
      const base::MutexLock lock(mutex_);
      ended_ = true;
    }
    work_.SignalAll();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Work() {
    base::MutexLock lock(mutex_);
    while (true) {
      while (!ended_ && jobs_.empty()) work_.Wait(mutex_);
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      room_.Signal();
      lock.Unlock();
      job();
      lock.Lock();
    }
  }

  size_t waiting_;
  base::Mutex mutex_;
  base::CondVar work_, room_;
  std::deque<std::function<void()>> jobs_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

void ReuseAddress(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

bool NamesLoopback(const std::string& host) {
  const absl::StatusOr<base::HostPort> named = base::ParseHostPort(host);
  if (named.ok()) return named->loopback();
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  return base::HostPort{.host = bracketed ? host.substr(1, host.size() - 2) : host}.loopback();
}

}  // namespace

// The library reads and routes; streams, threads and what may come in are ours.
class HttpServer::Impl final : public httplib::Server {
 public:
  Impl(const HttpServerSpec& spec, HttpServer::Handler handler)
      : spec_(spec), handler_(std::move(handler)) {
    new_task_queue = [this] { return new BoundedQueue(spec_.threads, spec_.waiting); };
    set_socket_options(ReuseAddress);
    // Every request ends here, before anything that follows its headers is read.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      Fill(AnswerTo(request), response);
      return HandlerResponse::Handled;
    });
    set_exception_handler([](const httplib::Request&, httplib::Response& response,
                             std::exception_ptr) { response.status = 500; });
  }

  // The port, or -1.
  int Bind() {
    return spec_.listen.port == 0 ? bind_to_any_port(spec_.listen.host)
           : bind_to_port(spec_.listen.host, spec_.listen.port) ? spec_.listen.port
                                                                : -1;
  }

  void Start() {
    thread_ = std::thread([this] { listen_after_bind(); });
    while (!is_running()) std::this_thread::yield();
  }

  void Stop() {
    stopping_ = true;
    stop();
    thread_.join();
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    BoundedStream stream(socket, spec_, stopping_);
    bool closed = false;
    // A part of an answer is never asked for, and a list of parts could multiply it.
    const bool done = process_request(stream, true, closed,
                                      [](httplib::Request& request) { request.ranges.clear(); });
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return done;
  }

  Answer AnswerTo(const httplib::Request& request) const {
    if (request.method != "GET" && request.method != "HEAD") {
      return {.status = 405, .body = "only GET and HEAD\n", .headers = {{"Allow", "GET, HEAD"}}};
    }
    if (spec_.listen.loopback() && !NamesLoopback(request.get_header_value("Host"))) {
      return {.status = 421, .body = "this server answers to a loopback address only\n"};
    }
    return handler_(
        {.path = request.path, .authorization = request.get_header_value("Authorization")});
  }

  static void Fill(const Answer& answer, httplib::Response& response) {
    response.status = answer.status;
    for (const auto& [name, value] : answer.headers) response.set_header(name, value);
    response.set_content(answer.body, answer.content_type);
  }

  const HttpServerSpec spec_;
  const HttpServer::Handler handler_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

HttpServer::HttpServer(base::HostPort listen, std::unique_ptr<Impl> impl)
    : listen_(std::move(listen)), impl_(std::move(impl)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerSpec& spec,
                                                              Handler handler) {
  auto impl = std::make_unique<Impl>(spec, std::move(handler));
  errno = 0;
  const int port = impl->Bind();
  if (port < 0) {
    return base::Unavailable("cannot listen on {}: {}", spec.listen.text(),
                             errno == 0 ? "no such address" : std::strerror(errno));
  }
  impl->Start();
  return std::unique_ptr<HttpServer>(new HttpServer(
      {.host = spec.listen.host, .port = static_cast<uint16_t>(port)}, std::move(impl)));
}

HttpServer::~HttpServer() { impl_->Stop(); }

}  // namespace tacet::transport::http
