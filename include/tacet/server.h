// Aggregation server of a live federation, as the program `tacet-server` runs it, and inside of
// another framework.
#ifndef TACET_SERVER_H_
#define TACET_SERVER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tacet {

namespace host {
class RelayServer;
}  // namespace host

// Times and limits of a federation's rounds.
struct RoundOptions {
  // Seconds, above 0, that members have for their uploads to an attempt.
  uint64_t collecting_seconds = 600;
  // Seconds that an attempt waits for members that are not connected, once enough are. Longer waits
  // lose fewer updates and slow the federation down.
  uint64_t grace_seconds = 60;
  // Pause after an attempt with too few uploads. It doubles from one to the next, up to an hour.
  uint64_t retry_seconds = 60;
  // Seconds, above 0, that the committee has to vote and unmask; extended by as many again as long
  // as seats are offline, but not beyond `abandon_seconds` after the attempt's beginning.
  uint64_t unmasking_seconds = 300;
  uint64_t abandon_seconds = 7 * 24 * 3600;
  // Number, above 0, of last rounds that late members can fetch.
  uint32_t kept_rounds = 3;

  // Limits of one member, on average, above 0.
  double requests_a_second = 50;
  double bytes_a_second = 64 << 20;
};

struct ServerOptions {
  // Folder of the server, which has joined the federation: its keys, its invitation, its state.
  std::filesystem::path home = {};

  // File of random bytes that unlocks the keys, or file whose first line is their passphrase. Both
  // are readable by their owner alone. Without either the terminal asks for the passphrase.
  std::optional<std::filesystem::path> key_file = std::nullopt;
  std::optional<std::filesystem::path> passphrase_file = std::nullopt;

  // HOST:PORT at which members connect. "*:PORT", ":PORT" and "[::]:PORT" are all addresses, IPv4
  // and IPv6. Port 0 is any that is free: the event "listening" names it.
  //
  // Default: port 7443 of all IPv4 addresses
  std::string listen = "0.0.0.0:7443";

  // HOST:PORT of the operators' HTTP site: health, metrics, and the page.
  //
  // Default: port 9464 of this machine alone
  std::string admin = "127.0.0.1:9464";

  // Whether the operators' site has a page, which shows the federation's state and its members.
  //
  // Default: none, on an address that only this machine reaches
  std::optional<bool> page = std::nullopt;

  // File whose first line is the page's token, readable by its owner alone.
  //
  // Default: none, each start writes a new token into the home
  std::optional<std::filesystem::path> page_token_file = std::nullopt;

  // Storage of the state: "sqlite:PATH" or "postgresql://...".
  //
  // Default: none, SQLite in the home
  std::optional<std::string> storage = std::nullopt;

  // False: a load balancer ends the members' TLS connections, and members are identified by their
  // signatures alone.
  //
  // Default: true
  bool client_certificates = true;

  // Seconds that an open attempt may still take when the server is asked to end. After the next
  // start the attempt continues.
  uint64_t drain_seconds = 0;

  RoundOptions rounds = {};
};

struct ServerFunctions {
  // Whether to end. Asked several times a second.
  std::function<bool()> stop = nullptr;

  // An event, one JSON object (docs/formats/server-log.md) and a new line. Never a secret, a
  // cohort, or who asked for what. Called by several threads, one at a time.
  //
  // Default: none, events are dropped
  std::function<void(std::string_view line)> on_event = nullptr;
};

// Server of a federation inside of another framework, such as Flower, whose messages carry the
// members' requests as bundles of bytes (docs/formats/frameworks.md). It adds encrypted updates
// that it cannot read. Thread-safe; time passes for its rounds as long as it exists.
class RelayServer {
 public:
  // By the framework's name of a node, any text. It says nothing about the member behind the node:
  // members sign their requests.
  using Bundles = std::map<std::string, std::vector<uint8_t>>;

  // `home`, the folder of the server, which has joined the federation, holds the state unless
  // `storage` says otherwise, as in ServerOptions. No key is needed. Of `functions` only `on_event`
  // is used. NotFound and FailedPrecondition when the home has no identity, has not joined or is a
  // site's; InvalidArgument for a wrong option; Unavailable when the storage cannot be used.
  static absl::StatusOr<RelayServer> Open(const std::filesystem::path& home,
                                          const std::optional<std::string>& storage,
                                          const RoundOptions& options,
                                          const ServerFunctions& functions);

  // Takes bundles of requests and returns bundles of answers, as soon as one node has any, or after
  // `wait_seconds` >= 0. A request that waits for news stays at the server until there are some, or
  // half a minute has passed. A node that gave a bundle and for which nothing waits has an answer
  // without calls. An empty bundle, or one that cannot be read, counts as one without requests.
  absl::StatusOr<Bundles> Exchange(const Bundles& bundles, double wait_seconds) const;

  bool done() const;        // nothing is open and no attempt will follow
  uint32_t round() const;   // number of rounds whose result was published
  uint32_t rounds() const;  // T, as agreed

 private:
  explicit RelayServer(std::shared_ptr<host::RelayServer> server);

  std::shared_ptr<host::RelayServer> server_;
};

// Serves until `functions.stop` says so. The server adds encrypted updates that it cannot read. It
// is meant to have a process of its own: it tunes the process's memory for its many connections. No
// signal handler is installed. Errors are those of the beginning: NotFound and FailedPrecondition
// when the home has no identity or is a site's, PermissionDenied and InvalidArgument for a wrong
// key file or option, Unavailable when an address or the storage cannot be used. Later ones are
// events, and what failed is tried again.
absl::Status RunServer(const ServerOptions& options, const ServerFunctions& functions);

}  // namespace tacet

#endif  // TACET_SERVER_H_
