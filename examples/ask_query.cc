// Answers of a query over the tables of several sites.
// usage: ask_query QUERY.toml TABLES OUT
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tacet/statistics.h"

namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "ask_query: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return Fail(absl::InvalidArgumentError("QUERY.toml TABLES OUT"));
  std::ifstream file(argv[1]);
  const std::string query{std::istreambuf_iterator<char>(file), {}};
  const auto run = tacet::Ask(query, tacet::SiteTables::Files(argv[2]), {.out = argv[3]});
  if (!run.ok()) return Fail(run.status());
  const auto answers = run->Answers();
  if (!answers.ok()) return Fail(answers.status());
  for (const tacet::Answer& answer : *answers) {
    for (const tacet::Estimate& number : answer.estimates) {
      if (number.suppressed()) continue;
      std::printf("%s: %s %s %.4g (%.4g to %.4g)\n", answer.question.c_str(),
                  number.quantity.c_str(), number.at.c_str(), *number.value, number.interval->low,
                  number.interval->high);
    }
  }
  const auto guarantee = run->ComputeGuarantee();
  if (!guarantee.ok()) return Fail(guarantee.status());
  std::printf("all answers together: epsilon %.3g\n", guarantee->epsilon);
}
