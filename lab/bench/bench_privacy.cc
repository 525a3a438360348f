#include "lab/bench/bench_privacy.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lab/bench/bench_timing.h"
#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/status.h"
#include "tacet/crypto/secret.h"
#include "tacet/ledger/row_sketch.h"
#include "tacet/secagg/digest_key.h"

namespace tacet::app::bench {
namespace {

constexpr uint32_t kRows = 1'000'000;
constexpr size_t kColumns = 10;
constexpr uint64_t kManyRounds = 1'000'000;

// Processor time of one call, without one before: guarantees are remembered.
absl::StatusOr<double> MedianOf(uint32_t repetitions,
                                const std::function<absl::Status(uint32_t)>& work) {
  std::vector<double> seconds;
  for (uint32_t i = 0; i < repetitions; ++i) {
    const double begin = ThreadSeconds();
    TACET_RETURN_IF_ERROR(work(i));
    seconds.push_back(ThreadSeconds() - begin);
  }
  return Median(std::move(seconds));
}

// A delta that no earlier repetition asked for.
double DeltaOf(uint32_t repetition) { return 1e-5 * (1 + 1e-9 * repetition); }

absl::Status SketchRows() {
  const crypto::SecretBytes key(ledger::kSketchKeyBytes);
  ledger::RowSketcher sketcher(key);
  std::vector<std::string> row(kColumns);
  for (size_t column = 0; column < kColumns; ++column) row[column] = std::to_string(31 * column);
  for (uint32_t i = 0; i < kRows; ++i) {
    row[i % kColumns] = std::to_string(i);
    sketcher.Add(row);
  }
  const size_t kept = sketcher.Finish().digests().size();
  if (kept == ledger::kMaxSketchRows) return absl::OkStatus();
  return base::DataLoss("a sketch of {} rows has {} of them", kRows, kept);
}

absl::Status BoundManyRounds(uint32_t repetition) {
  const accounting::SamplingEvent event{.neighbouring = accounting::Neighbouring::kReplaceOne,
                                        .sampling = accounting::Sampling::kFixedSize,
                                        .sampling_rate = 0.02,
                                        .noise_stddev = 30,
                                        .clip_norm = 1};
  constexpr accounting::Accountant kTight[] = {accounting::Accountant::kFixedSizeTight};
  TACET_ASSIGN_OR_RETURN(const accounting::EpsilonBounds bounds,
                         accounting::BoundEpsilon(accounting::Repeated(event, kManyRounds),
                                                  DeltaOf(repetition), kTight));
  if (bounds.headline() != nullptr) return absl::OkStatus();
  return base::DataLoss("no bound of {} rounds", kManyRounds);
}

absl::Status BoundAbsentClients(uint32_t repetition) {
  const accounting::FederationPrivacySpec spec{
      .sampling = {.clients = 3596,
                   .cohort = 1000,
                   .min_participants = 842,
                   .method = accounting::Sampling::kPoisson},
      .mechanism = {.clip_norm = 1, .noise_stddev = 6},
      .privacy = {.delta = DeltaOf(repetition)},
      .rounds = 100};
  return accounting::GuaranteesOf(spec).status();
}

}  // namespace

absl::StatusOr<BenchPrivacyResult> BenchPrivacy(uint64_t dimension, uint32_t repetitions) {
  TACET_RETURN_IF_ERROR(CheckRepetitions(repetitions));
  if (dimension == 0) return base::InvalidArgument("--dimension is 0, expected 1 or more");
  BenchPrivacyResult result;
  TACET_ASSIGN_OR_RETURN(result.row_sketch_s,
                         MedianOf(repetitions, [](uint32_t) { return SketchRows(); }));
  TACET_ASSIGN_OR_RETURN(result.many_rounds_s, MedianOf(repetitions, BoundManyRounds));
  TACET_ASSIGN_OR_RETURN(result.absent_clients_s, MedianOf(repetitions, BoundAbsentClients));
  const secagg::DigestKey key{crypto::SecretBytes(secagg::DigestKey::kBytes)};
  const std::vector<float> model(dimension, 0.5F);
  result.model_digest_s = MedianThreadSeconds(repetitions, [&] { (void)key.OfModel(model); });
  return result;
}

}  // namespace tacet::app::bench
