// Server of a federation inside of another framework's server, which carries the members' calls as
// bundles of bytes.
#ifndef TACET_HOST_RELAY_SERVER_H_
#define TACET_HOST_RELAY_SERVER_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/base/text_sink.h"
#include "tacet/crypto/hash.h"
#include "tacet/host/hosted_rounds.h"
#include "tacet/host/next_questions.h"
#include "tacet/host/server_log.h"
#include "tacet/server/request_handler.h"
#include "tacet/storage/file/membership.h"
#include "tacet/transport/relay/bundle.h"

namespace tacet::host {

struct RelayServerSpec {
  HostedRoundsSpec rounds;
  std::string log = "-";    // server_log.h
  base::TextSink out = {};  // of log lines where `log` is "-"
};

// By the framework's name of a node, which says nothing about the member behind it: members sign
// their requests.
using NodeBundles = std::map<std::string, base::Bytes>;

// Thread-safe.
class RelayServer {
 public:
  // Time passes for its rounds from now on. Errors of ServerMembership and HostedRounds::Open. It
  // needs no key: the server of a federation holds none but that of its TLS connections.
  static absl::StatusOr<std::unique_ptr<RelayServer>> Open(const RelayServerSpec& spec,
                                                           std::string_view version);
  ~RelayServer();
  RelayServer(const RelayServer&) = delete;
  RelayServer& operator=(const RelayServer&) = delete;

  // Takes bundles of requests and returns bundles of answers, as soon as one node has any, or after
  // `wait_seconds`. A request that waits for news stays here until there are some, or half a minute
  // has passed. A node that gave a bundle and for which nothing waits has an answer without calls:
  // its member may have a request by now. A bundle that cannot be read is logged as a
  // request, and counts as a bundle without any.
  NodeBundles Exchange(const NodeBundles& bundles, double wait_seconds);

  // Whether nothing is open and no attempt will follow.
  bool done() const { return hosted_.rounds().Idle(); }
  // Number of rounds whose result was published.
  uint32_t round() const { return hosted_.rounds().Status().finished; }
  // T, as agreed.
  uint32_t rounds() const { return membership_.manifest.manifest().spec().rounds; }

 private:
  struct Parked {
    tacet::server::Waiting waiting;
    std::chrono::steady_clock::time_point until;
  };
  struct Hold {
    Awaited awaited;
    std::chrono::steady_clock::time_point until;
  };
  struct Node {
    std::map<crypto::Digest, Parked> parked;
    std::vector<transport::relay::RelayedAnswer> answers;
    std::set<crypto::Digest> told;  // requests that the last bundle answered
    // The answers say that something was taken: they wait for what is next.
    std::optional<Hold> hold;
    bool idle = false;                  // gave a bundle, and nothing waits for it
    std::optional<NextQuestions> next;  // of the member that signed its last request
  };

  RelayServer(const RelayServerSpec& spec, storage::file::Membership membership,
              std::unique_ptr<ServerLog> log);

  void Take(Node& node, std::span<const uint8_t> bundle) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Handle(Node& node, std::span<const uint8_t> request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes who signed a request that was accepted, and what an await heard.
  NextQuestions& NoteRequest(Node& node, const protocol::MemberRequest& request,
                             const base::Bytes& answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Answers what has waited for enough.
  void LookAtParked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  NodeBundles Ready() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Until there are news, at the latest until `time`.
  void AwaitNews(std::chrono::steady_clock::time_point time);

  storage::file::Membership membership_;
  std::unique_ptr<ServerLog> log_;
  mutable HostedRounds hosted_;

  base::Mutex mutex_;  // one exchange at a time
  std::map<std::string, Node> nodes_ ABSL_GUARDED_BY(mutex_);

  base::Mutex news_mutex_;
  base::CondVar news_came_;
  bool news_ ABSL_GUARDED_BY(news_mutex_) = false;

  std::jthread ticks_;  // ends first
};

}  // namespace tacet::host

#endif  // TACET_HOST_RELAY_SERVER_H_
