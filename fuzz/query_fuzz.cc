// Query files: what is understood has a plan within its limits, and a row's vector keeps to them.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tacet/config/toml.h"
#include "tacet/statistics/query_text.h"
#include "tacet/statistics/site_table_for_test.h"
#include "tacet/statistics/site_units.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto toml = config::ParseToml(text, "fuzz");
  if (!toml.ok()) return 0;
  const auto file = statistics::ReadQueryFile(*toml);
  if (!file.ok()) return 0;
  auto created = statistics::Query::Create(file->query);
  if (!created.ok()) return 0;
  const auto query = std::make_shared<const statistics::Query>(*std::move(created));
  if (query->dimension() > 65536) std::abort();
  if (query->spec().unit == accounting::Unit::kPerson) return 0;
  const std::vector<std::string>& columns = query->columns();
  const bool is_laplace = query->noise_law() == dp::NoiseLaw::kDiscreteLaplace;
  const auto norm_of = [is_laplace](const std::vector<float>& sum) {
    double norm = 0;
    for (const float value : sum) {
      norm += is_laplace ? std::abs(double{value}) : double{value} * value;
    }
    return is_laplace ? norm : std::sqrt(norm);
  };
  const double most = query->clip_norm() * (1 + 1e-6);
  // With replace-one no row is farther than 2 S from a row that counts nowhere.
  const bool replaced = file->query.neighbouring == accounting::Neighbouring::kReplaceOne &&
                        file->query.unit == accounting::Unit::kRecord;
  // A round is summed at coefficients that earlier ones lead to, whatever they are.
  std::vector<statistics::ModelCoefficients> at = {{}};
  for (const double coefficient : {-800.0, -3.0, 3.0, 800.0}) {
    if (query->rounds() == 1) break;
    statistics::ModelCoefficients& all = at.emplace_back();
    for (const statistics::QuestionPlan& plan : query->questions()) {
      all.emplace_back(plan.baselines + plan.design->columns(), coefficient);
    }
  }
  std::vector<std::vector<std::vector<float>>> sums(at.size());
  // Rows that count, and one that cannot be read.
  for (const char* field : {"1", "2025-01-31", "> 89", "36y"}) {
    const statistics::SiteTable table =
        statistics::TableOfRows("fuzz", columns, {std::vector<std::string>(columns.size(), field)});
    const auto site = statistics::SiteUnits::Create(query, table);
    if (!site.ok()) std::abort();
    for (size_t of_round = 0; of_round < at.size(); ++of_round) {
      std::vector<float> sum(query->round_dimension());
      site->SumUnits(std::vector<uint32_t>{0}, sum, at[of_round]);
      if (!(norm_of(sum) <= (replaced ? 2 : 1) * most)) std::abort();
      for (std::vector<float> other : sums[of_round]) {
        for (size_t i = 0; i < sum.size(); ++i) other[i] -= sum[i];
        if (!(norm_of(other) <= 2 * most)) std::abort();
      }
      sums[of_round].push_back(std::move(sum));
    }
  }
  return 0;
}
