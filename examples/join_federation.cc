// Member of a live federation that fits y = a + b x to the rows "x,y" of a file.
// usage: join_federation HOME SERVER KEY_FILE ROWS
#include <csignal>
#include <cstdio>
#include <fstream>
#include <span>
#include <vector>

#include "tacet/member.h"
#include "tacet/run.h"

namespace {

struct Row {
  float x, y;
};
volatile std::sig_atomic_t stopped = 0;

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "join_federation: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return Fail(absl::InvalidArgumentError("HOME SERVER KEY_FILE ROWS"));
  std::signal(SIGINT, [](int) { stopped = 1; });
  std::ifstream file(argv[4]);
  std::vector<Row> rows;
  char comma = 0;
  for (Row row{}; file >> row.x >> comma >> row.y;) rows.push_back(row);

  tacet::MemberFunctions functions;
  functions.train = [&rows](const tacet::MemberTask& task, std::span<float> update) {
    float a = task.model[0], b = task.model[1];
    for (int step = 0; step < 20; ++step) {  // of gradient descent
      float error = 0, slope = 0;
      for (const Row& row : rows) {
        error += a + b * row.x - row.y;
        slope += (a + b * row.x - row.y) * row.x;
      }
      a -= 0.1F * error / static_cast<float>(rows.size());
      b -= 0.1F * slope / static_cast<float>(rows.size());
    }
    update[0] = a - task.model[0], update[1] = b - task.model[1];
    return absl::OkStatus();
  };
  functions.stop = [] { return stopped != 0; };
  const auto member = tacet::Member::Open(
      {.home = argv[1], .server = argv[2], .key_file = argv[3], .data = argv[4]});
  if (!member.ok()) return Fail(member.status());
  const auto end = member->Run(functions);
  if (!end.ok()) return Fail(end.status());
  const auto run = tacet::Run::Open(end->run);
  const auto model = run.ok() ? run->Model() : run.status();
  if (!model.ok()) return Fail(model.status());
  std::printf("%u rounds: y = %.2f + %.2f x\n", end->rounds, (*model)[0], (*model)[1]);
  return end->complete ? 0 : 1;
}
