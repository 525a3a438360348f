#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/core.h"

#include "lab/bench/bench_he.h"
#include "lab/reproduce/reproduce.h"
#include "tacet/audit/commit.h"
#include "tacet/base/status.h"
#include "tacet/run/run_output.h"

namespace tacet::app::reproduce {
namespace {

// A row of the paper's table: seconds for the whole model of 486,654 values, 26 bits a sum, 1000
// participants, by PALISADE 1.1.6 on four cores at 3 GHz. Ours packs values in the pass in which it
// encrypts, so only the sum of those two, which the paper leaves to the reader, compares.
struct Step {
  std::string_view name;
  std::string_view key;
  double published;
  double bench::BenchHeResult::*measured;
};
constexpr std::array<Step, 6> kSteps = {{
    {"context and key generation", "setup_s", 0.05698, &bench::BenchHeResult::setup_s},
    {"encoding", "encode_s", 0.05704, &bench::BenchHeResult::encode_s},
    {"encryption", "encrypt_s", 0.84642, &bench::BenchHeResult::encrypt_s},
    {"encoding and encryption", "encode_encrypt_s", 0.90346,
     &bench::BenchHeResult::encode_encrypt_s},
    {"evaluation (adding all)", "aggregate_s", 26.22508, &bench::BenchHeResult::aggregate_s},
    {"decryption", "decrypt_s", 0.29308, &bench::BenchHeResult::decrypt_s},
}};

struct Column {
  he::Scheme scheme;
  uint32_t plaintext_bits;
};
// The published size, and ours: the fewest bits that hold the sums.
constexpr std::array<Column, 2> kColumns = {
    {{he::Scheme::kPaperPublicKey, 26}, {he::Scheme::kCompact, 22}}};

}  // namespace

absl::StatusOr<Reproduced> ReproduceTable2(const ReproduceFlags& flags) {
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  if (flags.participants > kMax || flags.repetitions > kMax) {
    return base::InvalidArgument("--participants and --repetitions must be below 2^32");
  }
  TACET_ASSIGN_OR_RETURN(const std::filesystem::path out, FolderOf(flags, "table2"));
  base::JsonValue published = base::JsonValue::MakeObject();
  for (const Step& step : kSteps) published.Set(step.key, step.published);
  base::JsonValue measured = base::JsonValue::MakeObject();
  std::string text = fmt::format("{:<28}{:>12}", "seconds", "published");
  std::array<bench::BenchHeResult, kColumns.size()> results;
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const std::string name(he::SchemeName(kColumns[i].scheme));
    fmt::print(flags.progress, "measuring   {}, {} values, {} participants\n", name,
               flags.dimension, flags.participants);
    std::fflush(flags.progress);
    TACET_ASSIGN_OR_RETURN(
        results[i], bench::BenchHe({.scheme = kColumns[i].scheme,
                                    .dimension = flags.dimension,
                                    .participants = static_cast<uint32_t>(flags.participants),
                                    .plaintext_bits = kColumns[i].plaintext_bits,
                                    .repetitions = static_cast<uint32_t>(flags.repetitions)}));
    if (results[i].wrong_values != 0) {
      return base::DataLoss("{}: {} of {} decrypted sums are wrong", name, results[i].wrong_values,
                            flags.dimension);
    }
    base::JsonValue column = base::JsonValue::MakeObject();
    column.Set("plaintext_bits", kColumns[i].plaintext_bits);
    for (const Step& step : kSteps) column.Set(step.key, results[i].*step.measured);
    column.Set("aggregate_two_cores_s", results[i].aggregate_two_cores_s)
        .Set("seal_s", results[i].seal_s)
        .Set("upload_bytes", results[i].upload_bytes)
        .Set("sum_bytes", results[i].sum_bytes);
    measured.Set(name, std::move(column));
    text += fmt::format("{:>12}{:>9}", name, "faster");
  }
  text += "\n";
  for (const Step& step : kSteps) {
    text += fmt::format("{:<28}{:>12.5f}", step.name, step.published);
    for (const bench::BenchHeResult& result : results) {
      const double seconds = result.*step.measured;
      const bool compares = step.key != "encode_s" && step.key != "encrypt_s";
      text += fmt::format("{:>12.5f}{:>9}", seconds,
                          compares ? fmt::format("{:.0f}x", step.published / seconds) : "");
    }
    text += "\n";
  }
  text += fmt::format("{:<28}{:>12}", "bytes an upload", "-");
  for (const bench::BenchHeResult& result : results) {
    text += fmt::format("{:>12}{:>9}", result.upload_bytes, "");
  }
  text += "\n";
  if (flags.dimension != 486'654 || flags.participants != 1000) {
    text += "The published figures are for 486654 values and 1000 participants.\n";
  }

  Reproduced made{
      .json =
          base::JsonValue::MakeObject()
              .Set("table", "2")
              .Set("command", fmt::format("tacet-lab reproduce table2 --dimension {} "
                                          "--participants {} --repetitions {}",
                                          flags.dimension, flags.participants, flags.repetitions))
              .Set("commit", audit::BuildCommit())
              .Set("dimension", flags.dimension)
              .Set("participants", flags.participants)
              .Set("machine", run::MachineJson())
              .Set("published", std::move(published))
              .Set("measured", std::move(measured)),
      .text = fmt::format("\n{}", text)};
  TACET_RETURN_IF_ERROR(WriteRecords(out, "table", made.json));
  made.text += fmt::format("\nresults     {}\n", (out / "table.json").string());
  return made;
}

}  // namespace tacet::app::reproduce
