#include "tacet/storage/postgres/postgres_for_test.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pqxx/pqxx>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tacet::storage::postgres {
namespace {

[[noreturn]] void Abort(const std::string& why) {
  std::fprintf(stderr, "the PostgreSQL of the test: %s\n", why.c_str());
  std::abort();
}

// Where Debian keeps the programs of the newest version.
std::filesystem::path FindPrograms() {
  std::set<std::filesystem::path> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    if (std::filesystem::exists(entry.path() / "bin" / "initdb")) found.insert(entry.path());
  }
  if (found.empty()) Abort("there is no /usr/lib/postgresql/VERSION/bin/initdb");
  return *found.rbegin() / "bin";
}

// The user it runs as; null for the user of the test.
const passwd* OtherUser() {
  if (::geteuid() != 0) return nullptr;
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* user = ::getpwnam(name); user != nullptr) return user;
  }
  Abort("there is no user but root");
}

}  // namespace

PostgresForTest& PostgresForTest::Get() {
  static PostgresForTest postgres;
  return postgres;
}

PostgresForTest::PostgresForTest() : programs_(FindPrograms()) {
  const std::filesystem::path password = folder_.path() / "password";
  std::ofstream(password) << kPassword << '\n';
  if (const passwd* user = OtherUser(); user != nullptr) {
    for (const auto& path : {folder_.path(), password}) {
      if (::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0) Abort("chown failed");
    }
  }
  Run({"initdb", "--pgdata", folder_.path() / "data", "--username", "tacet", "--pwfile", password,
       "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"});
  Start();
}

PostgresForTest::~PostgresForTest() { Kill(); }

// The child ends when this process does.
pid_t PostgresForTest::Spawn(const std::vector<std::string>& command) const {
  const passwd* user = OtherUser();
  const std::string program = programs_ / command.at(0);
  // The programs look for each other next to the path that they were called by.
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (size_t i = 1; i < command.size(); ++i) {
    arguments.push_back(const_cast<char*>(command[i].c_str()));
  }
  arguments.push_back(nullptr);
  const std::string log = folder_.path() / "log";
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 ||
                          ::setuid(user->pw_uid) != 0)) {
    ::_exit(126);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (::getppid() != parent || ::chdir(folder_.path().c_str()) != 0) ::_exit(126);
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::setenv("LC_ALL", "C", 1);
  ::execv(program.c_str(), arguments.data());
  ::_exit(127);
}

void PostgresForTest::Run(const std::vector<std::string>& command) const {
  int status = 0;
  const pid_t child = Spawn(command);
  if (::waitpid(child, &status, 0) != child || status != 0) {
    std::ifstream log(folder_.path() / "log");
    Abort(command.at(0) + " failed: " + std::string(std::istreambuf_iterator<char>(log), {}));
  }
}

void PostgresForTest::Start(const std::vector<std::string>& settings) {
  std::vector<std::string> command = {"postgres", "-D", folder_.path() / "data", "-k",
                                      folder_.path()};
  for (const char* setting : {"listen_addresses=", "max_connections=20", "shared_buffers=16MB"}) {
    command.insert(command.end(), {"-c", setting});
  }
  for (const std::string& setting : settings) command.insert(command.end(), {"-c", setting});
  server_ = Spawn(command);
  for (int tenths = 0; PQping(UrlOf("postgres").c_str()) != PQPING_OK; ++tenths) {
    if (tenths > 600 || ::waitpid(server_, nullptr, WNOHANG) != 0) {
      std::ifstream log(folder_.path() / "log");
      Abort("it does not start: " + std::string(std::istreambuf_iterator<char>(log), {}));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void PostgresForTest::Kill() {
  if (server_ < 0) return;
  ::kill(server_, SIGQUIT);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

std::string PostgresForTest::NewDatabase() {
  const std::string name = "test" + std::to_string(++databases_);
  Execute(UrlOf("postgres"), "CREATE DATABASE " + name);
  return UrlOf(name);
}

std::string PostgresForTest::UrlOf(const std::string& database) const {
  return std::string("postgresql://tacet:") + kPasswordInUrl + "@/" + database +
         "?host=" + folder_.path().string();
}

void PostgresForTest::Execute(const std::string& url, const std::string& sql) const {
  pqxx::connection connection(url);
  pqxx::nontransaction(connection).exec(sql);
}

}  // namespace tacet::storage::postgres
