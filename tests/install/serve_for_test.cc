// Server of a federation by the installed header tacet/server.h, for live_example_test.sh.
// usage: serve_for_test HOME KEY_FILE LOG
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "tacet/server.h"

namespace {

volatile std::sig_atomic_t stopped = 0;

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::signal(SIGTERM, [](int) { stopped = 1; });
  std::ofstream log(argv[3]);
  const absl::Status served = tacet::RunServer(
      {.home = argv[1],
       .key_file = argv[2],
       .listen = "127.0.0.1:0",
       .admin = "127.0.0.1:0",
       .rounds = {.collecting_seconds = 20, .grace_seconds = 1, .retry_seconds = 1}},
      {.stop = [] { return stopped != 0; },
       .on_event = [&log](std::string_view line) { log << line << std::flush; }});
  if (served.ok()) return 0;
  std::fprintf(stderr, "serve_for_test: %s\n", served.ToString().c_str());
  return 1;
}
