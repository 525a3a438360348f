// A federation that is set up with the program, and its server as a process.
#ifndef TACET_TESTS_INTEGRATION_FEDERATION_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_FEDERATION_FOR_TEST_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/integration/enrolment_for_test.h"

namespace tacet::app {

// The answer to a request, headers and all; empty when nobody listens.
inline std::string HttpSay(uint16_t port, const std::string& request) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string all;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t count = 0; (count = ::recv(socket, buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(count));
    }
  }
  ::close(socket);
  return all;
}

inline std::string HttpGet(uint16_t port, const std::string& path, const std::string& token = "") {
  return HttpSay(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
                           (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") +
                           "\r\n");
}

class FederationProgramTest : public EnrolmentTest {
 protected:
  // `agreed` is what north, south and west agree on, in TOML.
  void SetUpFederation(const std::string& agreed, const std::string& kind = "--config") {
    Init(agreed, kind);
    for (const std::string& site : sites_) Request(site);
    Request("hub", {"--server-host", "localhost", "--server-host", "127.0.0.1"});
    for (const std::string& site : sites_) Admit(site);
    Admit("hub");
    ASSERT_EQ(SealKey().exit_code, 0);
    for (const std::string& site : sites_) Accept(site);
    Accept("hub");
  }
  void TearDown() override {
    if (server_ > 0) {
      ::kill(server_, SIGKILL);
      WaitFor(server_, "server-");
    }
  }

  // The coordinator admits a request, and its maker joins with the invitation.
  void Admit(const std::string& name, const std::string& days = "365") {
    const Outcome enrolled = Enrol(name, Fingerprint(name), {"--days", days});
    ASSERT_EQ(enrolled.exit_code, 0) << enrolled.err;
  }
  void Accept(const std::string& name, int epoch = 0) {
    const Outcome joined = Join(name, epoch, {"--coordinator", coordinator_});
    ASSERT_EQ(joined.exit_code, 0) << joined.err;
  }

  // Flags and their values, empty for those that have none; `more` replaces what is there.
  static std::vector<std::string> Arguments(const std::vector<std::string>& more) {
    std::map<std::string, std::string> flags = {
        {"--home", "hub"},          {"--key-file", "hub.key"}, {"--listen", "127.0.0.1:0"},
        {"--admin", "127.0.0.1:0"}, {"--log", "server.log"},   {"--grace-seconds", "1"},
        {"--retry-seconds", "1"}};
    for (size_t i = 0; i + 1 < more.size(); i += 2) flags[more[i]] = more[i + 1];
    std::vector<std::string> arguments = {"server"};
    for (const auto& [flag, value] : flags) {
      arguments.push_back(flag);
      if (!value.empty()) arguments.push_back(value);
    }
    return arguments;
  }
  // Where a site keeps its ledger: each is a machine of its own.
  std::filesystem::path LedgerFolderOf(const std::string& who) const {
    return path_ / who / "data" / "tacet" / "ledger";
  }
  // The program as a process of `who`, under what environment_ says.
  pid_t StartAs(const std::string& who, std::vector<std::string> arguments,
                const std::string& output) {
    std::vector<std::string> variables = environment_[who];
    variables.push_back("XDG_DATA_HOME=" + (path_ / who / "data").string());
    arguments.insert(arguments.begin(), TACET_PROGRAM);
    arguments.insert(arguments.begin(), variables.begin(), variables.end());
    return Start("env", std::move(arguments), output);
  }
  // Until it is ready; its log starts empty.
  void StartServer(const std::vector<std::string>& more = {}) {
    std::filesystem::remove(path_ / "server.log");
    server_ = StartAs("hub", Arguments(more), "server-");
    ASSERT_NO_FATAL_FAILURE(AwaitEvent("listening")) << Read("server-stderr");
    members_port_ = static_cast<uint16_t>(Number(*Event("listening"), "port"));
    const std::string admin = *Event("admin-listening")->Find("address")->AsString();
    admin_port_ = static_cast<uint16_t>(std::stoi(admin.substr(admin.rfind(':') + 1)));
    Await([this] { return HttpGet(admin_port_, "/readyz").find(" 200 ") != std::string::npos; });
  }
  Outcome StopServer() {
    ::kill(server_, SIGTERM);
    return WaitFor(std::exchange(server_, 0), "server-");
  }

  std::vector<base::JsonValue> Events() const {
    std::vector<base::JsonValue> events;
    std::istringstream log(Read("server.log"));
    for (std::string line; std::getline(log, line);) {
      if (log.eof()) break;  // not written to its end yet
      auto event = base::JsonValue::Parse(line);
      EXPECT_TRUE(event.ok()) << line;
      if (event.ok()) events.push_back(*std::move(event));
    }
    return events;
  }
  std::optional<base::JsonValue> Event(const std::string& name) const {
    for (base::JsonValue& event : Events()) {
      if (*event.Find("event")->AsString() == name) return std::move(event);
    }
    return std::nullopt;
  }
  void Await(const std::function<bool()>& condition) const {
    for (int i = 0; i < 1200; ++i) {
      if (condition()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    FAIL() << "it did not come; the log says\n" << Read("server.log");
  }
  void AwaitEvent(const std::string& name) const {
    Await([&] { return Event(name).has_value(); });
  }

  base::JsonValue Api(const std::string& path) const {
    const std::string answer = HttpGet(admin_port_, path, Read("hub/page.token"));
    auto value = base::JsonValue::Parse(answer.substr(answer.find("\r\n\r\n") + 4));
    EXPECT_TRUE(value.ok()) << answer;
    return value.ok() ? *std::move(value) : base::JsonValue();
  }

  std::vector<std::string> sites_ = {"north", "south", "west"};
  std::map<std::string, std::vector<std::string>> environment_;  // NAME=VALUE, of hub and sites
  pid_t server_ = 0;
  uint16_t members_port_ = 0, admin_port_ = 0;
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_FEDERATION_FOR_TEST_H_
