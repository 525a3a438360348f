#include "tacet/host/relay_server.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tacet/base/status.h"
#include "tacet/protocol/member_request.h"

namespace tacet::host {
namespace {

using std::chrono::steady_clock;
using transport::relay::kMaxCalls;

constexpr std::chrono::seconds kParked(25);  // as with HTTPS
constexpr std::chrono::milliseconds kLookAgain(500);
constexpr double kMostSeconds = 3600;  // of one exchange

}  // namespace

absl::StatusOr<std::unique_ptr<RelayServer>> RelayServer::Open(const RelayServerSpec& spec,
                                                               std::string_view version) {
  const std::filesystem::path& home = spec.rounds.home;
  TACET_ASSIGN_OR_RETURN(const auto folder, storage::file::SiteFolder::Open(home));
  TACET_ASSIGN_OR_RETURN(storage::file::Membership membership, ServerMembership(folder, home));
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<ServerLog> log, ServerLog::Open(spec.log, spec.out));
  std::unique_ptr<RelayServer> server(new RelayServer(spec, std::move(membership), std::move(log)));
  RelayServer& self = *server;
  TACET_RETURN_IF_ERROR(self.hosted_.Open(version));
  if (self.hosted_.rounds().Status().paused) {  // there is no page on which anybody could resume
    self.hosted_.rounds().Obey(tacet::server::PauseAsked{.paused = false});
    self.log_->Write(LogLevel::kWarning, "pause-ignored");
  }
  self.hosted_.rounds().OnNotification([&self] {
    const base::MutexLock lock(self.news_mutex_);
    self.news_ = true;
    self.news_came_.SignalAll();
  });
  self.ticks_ = std::jthread([&self](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      (void)self.hosted_.Tick();  // logs its errors
      std::this_thread::sleep_for(kBetweenTicks);
    }
  });
  return server;
}

RelayServer::RelayServer(const RelayServerSpec& spec, storage::file::Membership membership,
                         std::unique_ptr<ServerLog> log)
    : membership_(std::move(membership)),
      log_(std::move(log)),
      hosted_(spec.rounds, membership_.manifest, *log_) {}

RelayServer::~RelayServer() {
  if (!ticks_.joinable()) return;  // Open failed
  ticks_.request_stop();
  ticks_.join();
  hosted_.rounds().OnNotification(nullptr);
  log_->Write(LogLevel::kInfo, "server-stopped");
}

NodeBundles RelayServer::Exchange(const NodeBundles& bundles, double wait_seconds) {
  const std::chrono::duration<double> most(std::min(wait_seconds, kMostSeconds));
  const auto end = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(most);
  const base::MutexLock lock(mutex_);
  for (const auto& [name, bundle] : bundles) Take(nodes_[name], bundle);
  while (true) {
    LookAtParked();
    NodeBundles ready = Ready();
    const auto now = steady_clock::now();
    if (!ready.empty() || now >= end) return ready;
    AwaitNews(std::min(end, now + kLookAgain));
  }
}

void RelayServer::Take(Node& node, std::span<const uint8_t> bundle) {
  if (!bundle.empty()) {
    const auto requests = transport::relay::ReadRequests(bundle);
    if (requests.ok()) {
      for (const std::span<const uint8_t> request : *requests) Handle(node, request);
    } else {
      hosted_.requests().OnRequest("unreadable", requests.status(), bundle.size(), 0);
    }
  }
  node.idle = node.parked.empty();
}

void RelayServer::Handle(Node& node, std::span<const uint8_t> request) {
  const crypto::Digest digest = crypto::Sha256(request);
  // The framework may deliver a request twice, and lose what it was answered.
  if (node.parked.contains(digest)) return;
  if (node.next.has_value() && node.told.contains(digest)) node.next->Forget();
  const bool may_hold = node.answers.empty() || node.hold.has_value();
  node.hold.reset();
  absl::StatusOr<tacet::server::HandledRequest> handled =
      hosted_.handler().Handle(request, std::nullopt);
  if (!handled.ok()) {
    node.answers.push_back({digest, handled.status()});
  } else if (auto* answer = std::get_if<base::Bytes>(&handled->next)) {
    const std::optional<Awaited> awaited =
        NoteRequest(node, handled->head.request, *answer).AwaitedAfter(handled->head, *answer);
    if (may_hold && awaited.has_value()) node.hold = Hold{*awaited, steady_clock::now() + kParked};
    node.answers.push_back({digest, std::move(*answer)});
  } else if (node.parked.size() < kMaxCalls) {
    NoteRequest(node, handled->head.request, {});
    node.parked.emplace(digest, Parked{.waiting = std::get<tacet::server::Waiting>(handled->next),
                                       .until = steady_clock::now() + kParked});
  }
}

NextQuestions& RelayServer::NoteRequest(Node& node, const protocol::MemberRequest& request,
                                        const base::Bytes& answer) {
  if (!node.next.has_value() || node.next->member() != request.member) {
    node.next.emplace(membership_.manifest, hosted_.handler(), hosted_.rounds(), request.member);
  }
  if (const auto* await = std::get_if<protocol::AwaitRequest>(&request.body); await != nullptr) {
    node.next->NoteAwait(*await);
    node.next->NoteAnnouncement(answer);
  }
  return *node.next;
}

void RelayServer::LookAtParked() {
  const auto now = steady_clock::now();
  for (auto& [name, node] : nodes_) {
    const auto is_due = [&, &next = node.next](const Parked& parked) {
      if (now >= parked.until) return true;
      return hosted_.handler().IsNews(parked.waiting) && (!next.has_value() || next->HasNews());
    };
    std::erase_if(node.parked, [&, &answers = node.answers, &next = node.next](const auto& entry) {
      const auto& [digest, parked] = entry;
      if (!is_due(parked)) return false;
      absl::StatusOr<base::Bytes> answer = hosted_.handler().Answer(parked.waiting);
      if (answer.ok() && next.has_value()) next->NoteAnnouncement(*answer);
      answers.push_back({digest, std::move(answer)});
      return true;
    });
  }
}

NodeBundles RelayServer::Ready() {
  NodeBundles ready;
  const auto now = steady_clock::now();
  for (auto& [name, node] : nodes_) {
    if (node.answers.empty() && !node.idle) continue;
    if (node.hold.has_value() && now < node.hold->until &&
        !node.next->IsThere(node.hold->awaited)) {
      continue;
    }
    node.hold.reset();
    const size_t calls = std::min(node.answers.size(), kMaxCalls);
    std::vector<transport::relay::PushedAnswer> pushed;
    if (node.next.has_value()) pushed = node.next->Answers();
    node.told.clear();
    for (size_t i = 0; i < calls; ++i) node.told.insert(node.answers[i].request);
    ready[name] = transport::relay::WriteAnswers(std::span(node.answers).first(calls), pushed);
    node.answers.erase(node.answers.begin(), node.answers.begin() + static_cast<ptrdiff_t>(calls));
    node.idle = false;
  }
  return ready;
}

void RelayServer::AwaitNews(steady_clock::time_point time) {
  const base::MutexLock lock(news_mutex_);
  while (!news_ && steady_clock::now() < time) news_came_.WaitUntil(news_mutex_, time);
  news_ = false;
}

}  // namespace tacet::host
