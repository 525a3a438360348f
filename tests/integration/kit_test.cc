// Enrolment of five sites and a server by the commands that people are told, counted, and
// `tacet client check` between them and their server.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/test_size_for_test.h"
#include "tests/integration/federation_for_test.h"
#include "tests/live/guess_sweep_for_test.h"
#include "tests/live/hash_guesser_for_test.h"

namespace tacet::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kMeanQuery = R"(
[privacy]
target_epsilon = 4.0
max_units = 100
[[question]]
name = "age"
kind = "mean"
column = "age"
low = 20
high = 100
)";

class KitTest : public FederationProgramTest {
 protected:
  // A command of the coordinator, the server's operator or a site.
  Outcome By(const std::string& who, std::vector<std::string> arguments) {
    ++commands_[who];
    const Outcome outcome = Tacet(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, 0) << who << ": " << outcome.err;
    return outcome;
  }
  // The commands in the kit's blocks, as a site types them: its fingerprint, data and key file.
  std::vector<std::vector<std::string>> CommandsOfKit(const std::string& name) const {
    std::istringstream kit(Read("federation/invitations/" + name + "-kit.md"));
    std::vector<std::vector<std::string>> commands;
    bool in_block = false;
    for (std::string line; std::getline(kit, line);) {
      if (line.starts_with("```")) in_block = line == "```sh";
      if (!in_block || !line.starts_with("tacet ")) continue;
      std::vector<std::string>& words = commands.emplace_back();
      std::istringstream text(line.substr(6));
      for (std::string word; text >> word;) {
        if (word == "\"FINGERPRINT\"") word = coordinator_;
        if (word == "DATA") word = "age.csv";
        if (word.ends_with(".tacet")) word = "federation/invitations/" + word;
        words.push_back(word);
      }
      words.insert(words.end(), {"--home", name, "--key-file", name + ".key"});
    }
    return commands;
  }
  // Everything up to the invitations. The server will be at `address`. All sites have the table.
  void SetUpFive(const std::string& address, std::string_view query = kMeanQuery,
                 const std::string& table = "age\n30\n40\n50\n60\n70\n") {
    WriteConfig(std::string(query), "query.toml");
    WriteConfig(table, "age.csv");
    const Outcome init =
        By("coordinator", {"federation", "init", "--name", "hospitals", "--query", "query.toml",
                           "--members", "5", "--key-file", "c.key", "--json"});
    coordinator_ = *base::JsonValue::Parse(init.out)->Find("coordinator")->AsString();
    for (const std::string& name : all_) {
      std::vector<std::string> request = {"client", "request", "--home",     name,
                                          "--name", name,      "--key-file", name + ".key"};
      if (name == "hub") {
        for (const char* host : {"127.0.0.1", "localhost"}) {
          request.insert(request.end(), {"--server-host", host});
        }
      }
      By(name, std::move(request));
      By("coordinator",
         {"federation", "enrol", name, "--request", name + "/" + name + ".request", "--fingerprint",
          Fingerprint(name), "--server", "hub", "--key-file", "c.key"});
    }
    By("coordinator", {"federation", "seal-key", "--key-file", "c.key", "--server", address});
    By("hub", {"client", "join", "federation/invitations/hub-epoch-0.tacet", "--home", "hub",
               "--coordinator", coordinator_, "--key-file", "hub.key"});
  }

  // Gives the site south a table with decimal commas: the check tells it without its own settings,
  // a wrong word in them is refused before anything is charged, and the right one reads it.
  void UseCommas(std::vector<std::string>& run) {
    WriteConfig("age;note\n30,5;a,b\n40,5;\n50,25;\nNA;\n", "south.csv");
    *std::ranges::find(run, "age.csv") = "south.csv";
    const auto check = [&](std::vector<std::string> more) {
      more.insert(more.begin(), {"data", "check", "--agreement", "south", "--data", "south.csv"});
      return Tacet(std::move(more));
    };
    const Outcome problems = check({});
    EXPECT_EQ(problems.exit_code, 1);
    EXPECT_THAT(problems.out,
                HasSubstr("from line 2, column 0 (\"age\"): 3 values are no finite numbers: "
                          "\"30,5\" (1), \"40,5\" (1), \"50,25\" (1)\n    if the file writes "
                          "numbers with a decimal comma"));
    EXPECT_THAT(problems.out, HasSubstr("problems    3 in 1 of 1 file"));
    WriteConfig("[data]\ncsv_decimal = \"komma\"\n", "south.toml");
    run.insert(run.end(), {"--config", "south.toml"});
    EXPECT_THAT(Tacet(run).err, HasSubstr("data.csv_decimal is \"komma\""));
    EXPECT_FALSE(std::filesystem::exists(path_ / "south/run"));
    WriteConfig("[data]\ncsv_decimal = \"comma\"\n", "south.toml");
    const Outcome good = check({"--config", "south.toml"});
    EXPECT_EQ(good.exit_code, 0) << good.out;
    EXPECT_THAT(good.out, HasSubstr("age (mean): 3 rows, 1 left out\n"));
  }

  // Runs the query of five sites, and lets the guesser have the server's folder. The released sum.
  std::vector<float> HearTheStoreOfAQuery(live::testing::HashGuesser& guesser) {
    const std::string address = fmt::format("127.0.0.1:{}", FreePort());
    SetUpFive(address);
    StartServer({"--listen", address});
    std::map<std::string, pid_t> running;
    for (const std::string& name : five_) {
      const std::vector<std::vector<std::string>> commands = CommandsOfKit(name);
      By(name, commands[0]);
      running[name] = StartAs(name, commands[1], name + "-");
    }
    for (const auto& [name, process] : running) {
      const Outcome ended = WaitFor(process, name + "-");
      EXPECT_EQ(ended.exit_code, 0) << name << ": " << ended.err;
    }
    size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_ / "hub")) {
      if (!entry.is_regular_file()) continue;
      ++files;
      guesser.Hear(base::AsBytes(ReadAll(entry.path())));
    }
    EXPECT_GT(files, 5u);
    const std::string released = Read("north/run/model.f32");
    std::vector<float> truth(released.size() / sizeof(float));
    std::memcpy(truth.data(), released.data(), released.size());
    return truth;
  }

  // For this machine, for a server that its sites are told before it starts.
  static uint16_t FreePort() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
    ::close(socket);
    return ntohs(address.sin_port);
  }

  const std::vector<std::string> five_ = {"north", "south", "east", "west", "centre"};
  const std::vector<std::string> all_ = {"hub", "north", "south", "east", "west", "centre"};
  std::map<std::string, int> commands_;
};

TEST_F(KitTest, FiveSitesTakeTenCommandsAndThreeEach) {
  const std::string address = fmt::format("127.0.0.1:{}", FreePort());
  SetUpFive(address);
  std::map<std::string, pid_t> running;
  for (const std::string& name : five_) {
    std::vector<std::vector<std::string>> commands = CommandsOfKit(name);
    ASSERT_EQ(commands.size(), 2u);
    EXPECT_THAT(commands[0], ::testing::Contains("join"));
    By(name, commands[0]);
    ++commands_[name];
    // One site's files have decimal commas, as its own settings say.
    if (name == "south") UseCommas(commands[1]);
    running[name] = StartAs(name, commands[1], name + "-");
  }
  // A server that is not there yet may come: sites wait for it.
  Await([&] { return Read("north-stderr").find("trying again") != std::string::npos; });
  EXPECT_THAT(Read("north-stderr"), HasSubstr("no answer from the server at " + address));
  ++commands_["hub"];
  StartServer({"--listen", address});
  for (const auto& [name, process] : running) {
    const Outcome ended = WaitFor(process, name + "-");
    EXPECT_EQ(ended.exit_code, 0) << name << ": " << ended.err;
  }
  EXPECT_FALSE(Read("north/run/answers.json").empty());
  for (const std::string& name : five_) {
    EXPECT_EQ(Read(name + "/run/answers.json"), Read("north/run/answers.json")) << name;
  }
  for (const auto& [who, count] : commands_) {
    EXPECT_LE(count, who == "coordinator" ? 10 : 3) << who;
  }
}

// A logistic, a Poisson and a hazard model: four releases under one agreement and one charge, the
// same answers everywhere, and an audit that computes them again from all releases.
TEST_F(KitTest, ModelsTakeFourReleases) {
  std::string table = "age,ill,visits,years,days,dead\n";
  for (int i = 0; i < 400; ++i) {
    const int age = 20 + i % 70;
    const int visits = (i * 53) % 100 < age ? 1 + i % 3 : 0;
    table += fmt::format("{},{},{},{},{},{}\n", age, (i * 37) % 100 < age ? "yes" : "no", visits,
                         1 + i % 2, 1000 - 8 * age + (i * 29) % 100, (i * 31) % 90 < age ? 1 : 0);
  }
  const std::string address = fmt::format("127.0.0.1:{}", FreePort());
  SetUpFive(address, R"(
[data]
values = ["ill one-of=no,yes"]
[privacy]
target_epsilon = 16.0
max_units = 400
[[question]]
name = "illness"
kind = "glm"
family = "binomial"
formula = "ill ~ age"
columns = ["ill", "age 20..90"]
[[question]]
name = "visits"
kind = "glm"
family = "poisson"
formula = "visits ~ age"
exposure = "years"
columns = ["visits 0..8", "age 20..90", "years 1..2"]
[[question]]
name = "death"
kind = "cox"
time = "days"
edges = [0, 1000]
event = "dead"
event_value = 1
formula = "age"
columns = ["age 20..90"]
)",
            table);
  StartServer({"--listen", address});
  std::map<std::string, pid_t> running;
  for (const std::string& name : five_) {
    const std::vector<std::vector<std::string>> commands = CommandsOfKit(name);
    By(name, commands[0]);
    running[name] = StartAs(name, commands[1], name + "-");
  }
  for (const auto& [name, process] : running) {
    const Outcome ended = WaitFor(process, name + "-");
    EXPECT_EQ(ended.exit_code, 0) << name << ": " << ended.err;
  }
  for (const std::string& name : five_) {
    EXPECT_EQ(Read(name + "/run/answers.json"), Read("north/run/answers.json")) << name;
  }
  EXPECT_EQ(*ReadJson("north/run/summary.json").Find("charged_attempts")->AsUint(), 4u);
  // log(p / (1 - p)) rises by some 0.05 a year from p = 0.2 at 20 to 0.9 at 89.
  const base::JsonValue answers = ReadJson("north/run/answers.json");
  const auto& estimates = answers.Find("questions")->items()[0].Find("estimates")->items();
  const auto slope = std::ranges::find_if(estimates, [](const base::JsonValue& estimate) {
    return *estimate.Find("quantity")->AsString() == "coefficient";
  });
  ASSERT_NE(slope, estimates.end());
  EXPECT_GT(*slope->Find("low")->AsDouble(), 0.02);
  EXPECT_LT(*slope->Find("high")->AsDouble(), 0.1);
  const auto& rates = answers.Find("questions")->items()[1].Find("estimates")->items();
  const auto ratio = std::ranges::find_if(rates, [](const base::JsonValue& estimate) {
    return *estimate.Find("quantity")->AsString() == "rate ratio";
  });
  ASSERT_NE(ratio, rates.end());
  EXPECT_GT(*ratio->Find("low")->AsDouble(), 1.0);
  EXPECT_LT(*ratio->Find("high")->AsDouble(), 1.1);
  const auto& hazards = answers.Find("questions")->items()[2].Find("estimates")->items();
  const auto of_age = std::ranges::find_if(hazards, [](const base::JsonValue& estimate) {
    return *estimate.Find("quantity")->AsString() == "hazard ratio";
  });
  ASSERT_NE(of_age, hazards.end());
  EXPECT_GT(*of_age->Find("low")->AsDouble(), 1.0);
  ASSERT_EQ(Tacet({"audit", "write", "north/run"}).exit_code, 0);
  const std::vector<std::string> verify = {"audit",
                                           "verify",
                                           "north/run/audit.json",
                                           "--model",
                                           "north/run/model.f32",
                                           "--digest-key",
                                           "north/run/digest-0.key"};
  const Outcome verified = Tacet(verify);
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  // An estimate and covariances that do not follow from the releases.
  const std::string right = Read("north/run/answers.json");
  for (const std::string what : {"\"value\": 0.0", "\"covariance\": "}) {
    std::string changed = right;
    const size_t place = changed.find(what);
    ASSERT_NE(place, std::string::npos) << what;
    changed[changed.find("0.", place)] = '9';
    std::ofstream(path_ / "north/run/answers.json") << changed;
    EXPECT_EQ(Tacet({"audit", "write", "north/run"}).exit_code, 1) << what;
  }
}

// A site whose budget is spent sends zeros, which change the answers: they name it everywhere.
TEST_F(KitTest, AnswersNameASiteWhoseBudgetIsSpent) {
  const std::string address = fmt::format("127.0.0.1:{}", FreePort());
  SetUpFive(address);
  StartServer({"--listen", address});
  std::map<std::string, pid_t> running;
  for (const std::string& name : five_) {
    std::vector<std::vector<std::string>> commands = CommandsOfKit(name);
    By(name, commands[0]);
    if (name == "east") {
      commands[1].insert(commands[1].end(), {"--ledger", "spent", "--budget-epsilon", "0.01"});
    }
    running[name] = StartAs(name, commands[1], name + "-");
  }
  for (const auto& [name, process] : running) {
    const Outcome ended = WaitFor(process, name + "-");
    EXPECT_EQ(ended.exit_code, 0) << name << ": " << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("missing: no data of east are in the answers (budget)"));
    EXPECT_THAT(ended.out, HasSubstr("givers: 4 of 5 uploads in round 1"));
    const base::JsonValue answers = ReadJson(name + "/run/answers.json");
    ASSERT_THAT(answers.Find("missing")->items(), ::testing::SizeIs(1));
    EXPECT_EQ(*answers.Find("missing")->items()[0].Find("site")->AsString(), "east");
    const std::string run = name + "/run";
    ASSERT_EQ(Tacet({"audit", "write", run}).exit_code, 0);
    const Outcome verified = Tacet({"audit", "verify", run + "/audit.json", "--model",
                                    run + "/model.f32", "--digest-key", run + "/digest-0.key"});
    EXPECT_EQ(verified.exit_code, 0) << verified.err;
    EXPECT_EQ(Tacet({"report", run, "--out", run + "/report.html"}).exit_code, 0);
    EXPECT_THAT(Read(run + "/report.html"), HasSubstr("\"site\":\"east\""));
  }
  // A file that names nobody, or another cause, is not that of the run.
  const std::string told = Read("north/run/answers.json");
  for (const auto& [what, by] :
       {std::pair("\"budget\"", "\"policy\""), std::pair("\"missing\"", "\"absent\"")}) {
    std::string changed = told;
    changed.replace(changed.find(what), std::string(what).size(), by);
    std::ofstream(path_ / "north/run/answers.json") << changed;
    EXPECT_EQ(Tacet({"audit", "write", "north/run"}).exit_code, 1) << by;
  }
}

// The server's whole store against guesses of the sum that a query released, with the true one
// among them: what a hash of the truth does not confirm, no number of other guesses confirms.
TEST_F(KitTest, TheServersStoreConfirmsNoGuessOfTheAnswers) {
  live::testing::HashGuesser guesser;
  const std::vector<float> truth = HearTheStoreOfAQuery(guesser);
  ASSERT_FALSE(truth.empty());
  EXPECT_EQ(guesser.Confirms(truth), std::nullopt);
  EXPECT_EQ(guesser.Confirms(std::vector<float>(truth.size())), std::nullopt);  // the initial one
  // Guesses of one answer at a time, as the nearest floats on both sides of it.
  const int guesses = base::TestSize("TACET_GUESSES", 1 << 9);
  for (size_t i = 0; i < truth.size(); ++i) {
    for (const float towards : {-INFINITY, INFINITY}) {
      std::vector<float> guess = truth;
      for (int n = 0; n < guesses; ++n) {
        guess[i] = std::nextafter(guess[i], towards);
        ASSERT_EQ(guesser.Confirms(guess), std::nullopt);
        ASSERT_EQ(guesser.Confirms(std::span(guess).subspan(i, 1)), std::nullopt);
      }
    }
  }
  // The same search finds the sum once its hash is in the store.
  guesser.Hear(crypto::Sha256(base::AsBytes(Read("north/run/model.f32"))));
  EXPECT_EQ(guesser.Confirms(truth), "SHA256 of little-endian binary32");
}

// The same with guesses of three answers at once, by tacet's own hash.
TEST_F(KitTest, TheServersStoreConfirmsNoneOfVeryManyGuesses) {
  live::testing::HashGuesser guesser;
  const std::vector<float> truth = HearTheStoreOfAQuery(guesser);
  ASSERT_GE(truth.size(), live::testing::GuessSweep::kUnknown);
  const auto guesses = static_cast<uint64_t>(base::TestSize("TACET_SWEEP", 1 << 20));
  guesser.Prepare();
  EXPECT_EQ(live::testing::GuessSweep(guesser).Confirms(truth, guesses), std::nullopt);
  guesser.Hear(crypto::Sha256(base::AsBytes(Read("north/run/model.f32"))));
  guesser.Prepare();
  EXPECT_EQ(live::testing::GuessSweep(guesser).Confirms(truth, 1 << 20), "SHA-256");
}

TEST_F(KitTest, AKitHasEverythingAndNamesAHostOfTheServer) {
  SetUpFive("localhost:443");
  const std::string kit = Read("federation/invitations/west-kit.md");
  EXPECT_THAT(kit, AllOf(HasSubstr("# Kit of west: member 4 of 5 of hospitals, epoch 0"),
                         HasSubstr("tacet client check --server localhost:443"),
                         HasSubstr("TACET_CLIENT_OPTIONS=\"--server localhost:443"),
                         HasSubstr("[Service]\nUser=tacet"), HasSubstr("WantedBy=multi-user")));
  // The fingerprint is told by telephone, never by the kit.
  EXPECT_THAT(kit, Not(HasSubstr(coordinator_.substr(0, 8))));
  EXPECT_FALSE(std::filesystem::exists(path_ / "federation/invitations/hub-kit.md"));
  for (const std::string wrong : {"example.org:443", "localhost", "localhost:", ":443",
                                  "localhost:443 --draw", "localhost:https"}) {
    const Outcome refused =
        Tacet({"federation", "seal-key", "--key-file", "c.key", "--server", wrong});
    EXPECT_EQ(refused.exit_code, 1) << wrong;
    EXPECT_THAT(refused.err, HasSubstr("expected HOST:PORT with a host that the server hub was "
                                       "enrolled with: 127.0.0.1, localhost"));
  }
  EXPECT_EQ(Read("federation/invitations/west-kit.md"), kit);
  // The epoch that would follow is not begun for a kit that cannot be written.
  EXPECT_EQ(Tacet({"federation", "rotate", "--key-file", "c.key", "--keep-exchange-keys",
                   "--server", "example.org:443"})
                .exit_code,
            1);
  EXPECT_FALSE(std::filesystem::exists(path_ / "federation/invitations/west-epoch-1.tacet"));
}

// On 0.1 a member that asked for a server's certificate got one.
TEST_F(KitTest, NobodyBecomesTheServerUnasked) {
  WriteConfig(std::string(kMeanQuery), "query.toml");
  By("coordinator", {"federation", "init", "--name", "hospitals", "--query", "query.toml",
                     "--members", "5", "--key-file", "c.key"});
  const auto enrol = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"federation",
                                          "enrol",
                                          name,
                                          "--request",
                                          name + "/" + name + ".request",
                                          "--fingerprint",
                                          Fingerprint(name),
                                          "--key-file",
                                          "c.key"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Tacet(std::move(arguments));
  };
  Request("north", {"--server-host", "127.0.0.1", "--server-host", "north.example.org"});
  Request("south");
  EXPECT_THAT(enrol("north", {}).err,
              AllOf(HasSubstr("north asks to be the server, reached at 127.0.0.1, "
                              "north.example.org. Nothing was enrolled"),
                    HasSubstr("--server north")));
  EXPECT_THAT(enrol("north", {"--server", "hub"}).err, HasSubstr("Nothing was enrolled"));
  EXPECT_THAT(enrol("south", {"--server", "south"}).err,
              HasSubstr("the request of south is a site's"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "federation/sites/north.enrolled"));
  EXPECT_THAT(enrol("south", {}).out, HasSubstr("south is enrolled as a site"));
  EXPECT_THAT(enrol("north", {"--server", "north"}).out,
              HasSubstr("north is enrolled as the server, reached at 127.0.0.1, "
                        "north.example.org"));
  EXPECT_TRUE(std::filesystem::exists(path_ / "federation/sites/north.enrolled"));
}

// Every cause, each as it happens, before anything is charged.
class ClientCheckTest : public KitTest {
 protected:
  void SetUp() override {
    SetUpFive("127.0.0.1:7443");
    By("north", CommandsOfKit("north")[0]);
    // Reached at every address of this machine.
    StartServer({"--listen", "0.0.0.0:0"});
  }
  Outcome Check(const std::string& server, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"client",     "check",     "--home",   "north",
                                          "--key-file", "north.key", "--server", server};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return WaitFor(StartAs("north", std::move(arguments), "check-"), "check-");
  }
  std::string Server() const { return fmt::format("127.0.0.1:{}", members_port_); }
  void SetClock(int64_t seconds_ahead) {
    const std::string file = path_ / "north.clock";
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&seconds_ahead), sizeof(seconds_ahead));
    environment_["north"] = {"LD_PRELOAD=" TACET_SHIFTED_CLOCK, "SHIFTED_CLOCK=" + file};
  }
  void ExpectNothingHappened() const {
    EXPECT_FALSE(std::filesystem::exists(path_ / "tacet"));  // ledgers
    EXPECT_FALSE(std::filesystem::exists(path_ / "north/run"));
    EXPECT_FALSE(std::filesystem::exists(path_ / "north/state"));
    // An attempt begins for those who are there: a check is not.
    EXPECT_EQ(Number(*Api("/api/status").Find("attendance"), "here"), 0);
  }
};

TEST_F(ClientCheckTest, AllIsWell) {
  const Outcome check = Check(Server());
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_THAT(check.out, AllOf(HasSubstr("north is member 2 of 5 of hospitals, epoch 0"),
                               HasSubstr("hub, enrolled with the hosts 127.0.0.1, localhost"),
                               HasSubstr("certificate valid until"),
                               HasSubstr("is the server of this epoch, and knows this site"),
                               HasSubstr(" s from the server's; 600 s are allowed"),
                               HasSubstr("Nothing was charged")));
  ExpectNothingHappened();
}

TEST_F(ClientCheckTest, EachCauseSaysWhatToDo) {
  const auto refused = [&](const std::string& server, const std::vector<std::string>& more = {}) {
    const Outcome check = Check(server, more);
    EXPECT_EQ(check.exit_code, 1) << check.out;
    return check.err;
  };
  EXPECT_THAT(refused(fmt::format("127.0.0.2:{}", members_port_)),
              HasSubstr("does not name 127.0.0.2. Use the name that it was enrolled with"));
  EXPECT_THAT(refused(fmt::format("127.0.0.1:{}", admin_port_)),
              HasSubstr("Check host and port of --server; the operators' port (--admin) is "
                        "another one"));
  EXPECT_THAT(refused("127.0.0.1:1"),
              AllOf(HasSubstr("this may pass"), HasSubstr("ask the server's operator")));
  EXPECT_THAT(refused(Server(), {"--proxy", fmt::format("http://127.0.0.1:{}", admin_port_)}),
              HasSubstr("Ask its administrator to allow CONNECT to this host and port"));
  EXPECT_THAT(refused("hub.example.org"), HasSubstr("HOST:PORT"));
  SetClock(1200);
  EXPECT_THAT(refused(Server()), AllOf(HasSubstr("s ahead of the server's; they may differ by "
                                                 "600 s. Set it by the network (NTP)")));
  SetClock(-1200);
  EXPECT_THAT(refused(Server()), HasSubstr("s behind the server's; they may differ by 600 s"));
  SetClock(-7200);  // certificates are valid from an hour before they were issued
  EXPECT_THAT(refused(Server()), HasSubstr("this machine's clock says"));
  SetClock(int64_t{400} * 86'400);
  EXPECT_THAT(refused(Server()), HasSubstr("this site's certificate has expired on"));
  environment_.clear();
  ExpectNothingHappened();
}

// The same causes end a member that takes part, before it charges anything.
TEST_F(ClientCheckTest, WhatStaysEndsAMemberThatTakesPart) {
  const auto ended = [&](const std::string& server) {
    std::vector<std::string> arguments = CommandsOfKit("north")[1];
    *(std::ranges::find(arguments, "--server") + 1) = server;
    const Outcome run = WaitFor(StartAs("north", std::move(arguments), "run-"), "run-");
    EXPECT_EQ(run.exit_code, 1) << run.out;
    EXPECT_THAT(run.err, Not(HasSubstr("trying again")));
    return run.err;
  };
  EXPECT_THAT(ended(fmt::format("127.0.0.1:{}", admin_port_)),
              HasSubstr("Check host and port of --server"));
  EXPECT_THAT(ended(fmt::format("127.0.0.2:{}", members_port_)),
              HasSubstr("does not name 127.0.0.2"));
  SetClock(int64_t{400} * 86'400);
  EXPECT_THAT(ended(Server()), HasSubstr("has expired"));
  for (const auto& file : std::filesystem::directory_iterator(LedgerFolderOf("north"))) {
    if (file.path().extension() != ".ledger") continue;
    const Outcome shown = Tacet({"ledger", "show", file.path().string(), "--json"});
    EXPECT_EQ(Number(*base::JsonValue::Parse(shown.out), "charges"), 0) << shown.out;
  }
}

}  // namespace
}  // namespace tacet::app
