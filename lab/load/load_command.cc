#include "lab/load/load_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include <malloc.h>

#include "apps/tacet/program/child_process.h"
#include "apps/tacet/program/sibling_program.h"
#include "tacet/base/json.h"
#include "tacet/base/process_cost.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/run/run_output.h"

namespace tacet::app::load {
namespace {

constexpr uint64_t kMaxRounds = 1'000'000;
constexpr double kStartSeconds = 120;  // for a server to come up, in seconds

// A value such that `share` of all are at most as large; 0 for none.
double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(share * last)];
}

base::JsonValue QuantilesJson(const std::vector<double>& seconds) {
  return base::JsonValue::MakeObject()
      .Set("p50", Quantile(seconds, 0.5))
      .Set("p99", Quantile(seconds, 0.99))
      .Set("max", Quantile(seconds, 1));
}

base::JsonValue CostJson(const base::ProcessCost& cost) {
  return base::JsonValue::MakeObject()
      .Set("cpu_s", cost.cpu_seconds)
      .Set("memory", cost.memory)
      .Set("memory_peak", cost.memory_peak);
}

// The port that a server of this program says in its log that it listens at.
std::optional<uint64_t> PortIn(const std::filesystem::path& log) {
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    const absl::StatusOr<base::JsonValue> event = base::JsonValue::Parse(line);
    if (!event.ok() || !event->is_object()) continue;
    const base::JsonValue* const name = event->Find("event");
    const base::JsonValue* const port = event->Find("port");
    if (name == nullptr || port == nullptr || name->AsString().value_or("") != "listening")
      continue;
    return std::strtoull(port->Dump().c_str(), nullptr, 10);
  }
  return std::nullopt;
}

class LoadCommand : public program::Command {
 public:
  std::string_view name() const override { return "load"; }
  std::string_view summary() const override {
    return "load test of a server with many members: seconds, bytes, processor time, memory";
  }

  void Register(program::Options& options) override {
    options.AddUint("clients", "number of members, each with its own connection", &spec_.clients);
    options.AddUint("cohort", "number of members in each round; 0: all", &spec_.cohort);
    options.AddUint("dimension", "d, parameters of the model", &spec_.dimension);
    options.AddUint("rounds", "number of rounds to run", &rounds_);
    options.AddString("folder",
                      "new folder for the server's home and log; when not given, a temporary one",
                      &folder_);
    options.AddString(
        "server",
        "HOST:PORT of a server that you start yourself with the home FOLDER/server; when "
        "not given, the command starts one on loopback",
        &server_);
    options.AddChoice("state",
                      "where the members keep state, ledger and log: memory, or files in a folder "
                      "next to the server's, as real sites do",
                      {"memory", "folder"}, &state_);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override {
    if (rounds_ == 0 || rounds_ > kMaxRounds) {
      return base::InvalidArgument("--rounds is {}, expected 1 to {}", rounds_, kMaxRounds);
    }
    if (server_.has_value() && folder_.empty()) {
      return base::InvalidArgument("--server needs --folder: the server's home is made there");
    }
    spec_.rounds = static_cast<uint32_t>(rounds_);
    // A thread for each member, of which few run at a time: memory that one gave back goes to the
    // next, and the system need not clear it again.
    mallopt(M_ARENA_MAX, 2);
    const bool temporary = folder_.empty();
    std::filesystem::path folder = folder_;
    if (temporary) {
      folder = std::filesystem::temp_directory_path() / "tacet-load-XXXXXX";
      std::string name = folder.string();
      if (::mkdtemp(name.data()) == nullptr) return base::Unavailable("cannot make {}", name);
      folder = name;
    }
    const absl::Status done = RunIn(folder);
    std::error_code ignored;
    if (temporary) std::filesystem::remove_all(folder, ignored);
    return done;
  }

 private:
  absl::Status RunIn(const std::filesystem::path& folder) {
    const std::string host =
        server_.has_value() ? server_->substr(0, server_->rfind(':')) : "127.0.0.1";
    const base::Stopwatch preparing;
    TACET_ASSIGN_OR_RETURN(const LoadFederation made, MakeLoadFederation(spec_, folder, host));
    Say("{} members and a server made in {:.1f} s\n", spec_.clients, preparing.Seconds());
    std::unique_ptr<program::ChildProcess> own;
    if (!server_.has_value()) {
      TACET_ASSIGN_OR_RETURN(own, StartServer(made, folder));
    } else {
      Say("start the server now, if it does not run yet:\n  tacet server --home {} --key-file {} "
          "--listen {}\n",
          made.server_home.string(), made.key_file.string(), *server_);
    }
    TACET_ASSIGN_OR_RETURN(
        const LoadResult result,
        RunLoadClients(made, {.server = *server_,
                              .folder = state_ == "folder" ? folder / "members" : "",
                              .on_round = [this, &own](const LoadRound& round) {
                                TellRound(round, own.get());
                              }}));
    std::optional<base::ProcessCost> cost;
    if (own != nullptr) {
      TACET_ASSIGN_OR_RETURN(cost, base::CostOf(own->id()));
    }
    Print(result, cost);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<program::ChildProcess>> StartServer(
      const LoadFederation& made, const std::filesystem::path& folder) {
    const std::filesystem::path log = folder / "server.log";
    TACET_ASSIGN_OR_RETURN(
        std::unique_ptr<program::ChildProcess> server,
        program::ChildProcess::Start(
            program::SiblingProgram("tacet-server"),
            {"--home", made.server_home.string(), "--key-file", made.key_file.string(), "--listen",
             "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log", log.string()}));
    const base::Stopwatch waiting;
    while (waiting.Seconds() < kStartSeconds && server->Runs()) {
      if (const std::optional<uint64_t> port = PortIn(log); port.has_value()) {
        server_ = fmt::format("127.0.0.1:{}", *port);
        return server;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return base::Unavailable("the server did not come up: {}", log.string());
  }

  template <typename... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) const {
    if (json_) return;
    fmt::print(format, std::forward<Args>(args)...);
    std::fflush(stdout);
  }

  void TellRound(const LoadRound& round, const program::ChildProcess* server) {
    absl::StatusOr<base::ProcessCost> cost = base::NotFound("another machine's");
    if (server != nullptr) cost = base::CostOf(server->id());
    memory_.push_back(cost.ok() ? cost->memory : 0);
    Say("round {:4}  {} uploads, {:.2f} s, of which sealing {:.2f} s{}\n", round.round,
        round.participants, round.seconds, round.sealing_seconds,
        cost.ok() ? fmt::format("; server {:.1f} MB", static_cast<double>(cost->memory) / 1e6)
                  : "");
  }

  void Print(const LoadResult& result, const std::optional<base::ProcessCost>& cost) const {
    double seconds = 0;
    for (const LoadRound& round : result.rounds) seconds += round.seconds;
    const double rate = seconds > 0 ? static_cast<double>(result.rounds.size()) / seconds : 0;
    if (!json_) {
      fmt::print(
          "all here after {:.2f} s\n"
          "{} rounds, {:.3f} a second; upload of {} bytes p50 {:.3f} s, p99 {:.3f} s; sums p50 "
          "{:.3f} s, p99 {:.3f} s\n",
          result.connecting_seconds, result.rounds.size(), rate, result.upload_bytes,
          Quantile(result.upload_seconds, 0.5), Quantile(result.upload_seconds, 0.99),
          Quantile(result.fetch_seconds, 0.5), Quantile(result.fetch_seconds, 0.99));
      const base::ProcessCost own = base::OwnCost();
      fmt::print("members     {:.1f} s of processor time, {:.1f} MB at most\n", own.cpu_seconds,
                 static_cast<double>(own.memory_peak) / 1e6);
      if (!cost.has_value()) return;
      fmt::print("server      {:.1f} s of processor time, {:.1f} MB at most\n", cost->cpu_seconds,
                 static_cast<double>(cost->memory_peak) / 1e6);
      return;
    }
    base::JsonValue rounds = base::JsonValue::MakeArray();
    for (size_t i = 0; i < result.rounds.size(); ++i) {
      rounds.Append(base::JsonValue::MakeObject()
                        .Set("round", result.rounds[i].round)
                        .Set("participants", result.rounds[i].participants)
                        .Set("seconds", result.rounds[i].seconds)
                        .Set("sealing_seconds", result.rounds[i].sealing_seconds)
                        .Set("server_memory", memory_[i]));
    }
    base::JsonValue json = base::JsonValue::MakeObject();
    json.Set("clients", spec_.clients)
        .Set("dimension", spec_.dimension)
        .Set("connecting_seconds", result.connecting_seconds)
        .Set("rounds", std::move(rounds))
        .Set("rounds_per_s", rate)
        .Set("upload_bytes", result.upload_bytes)
        .Set("upload_s", QuantilesJson(result.upload_seconds))
        .Set("fetch_s", QuantilesJson(result.fetch_seconds))
        .Set("machine", run::MachineJson())
        .Set("members", CostJson(base::OwnCost()));
    if (cost.has_value()) json.Set("server", CostJson(*cost));
    fmt::print("{}\n", json.Dump(2));
  }

  LoadFederationSpec spec_;
  uint64_t rounds_ = 1;
  std::string folder_;
  std::string state_ = "memory";
  std::optional<std::string> server_;
  bool json_ = false;
  std::vector<uint64_t> memory_;  // of the server, after each round
};

}  // namespace

std::unique_ptr<program::Command> NewLoadCommand() { return std::make_unique<LoadCommand>(); }

}  // namespace tacet::app::load
