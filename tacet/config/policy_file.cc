#include "tacet/config/policy_file.h"

#include <optional>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/toml.h"
#include "tacet/data/csv_feature.h"

namespace tacet::config {
namespace {

constexpr size_t kMaxPolicyBytes = size_t{1} << 16;

}  // namespace

absl::StatusOr<policy::SitePolicy> ParseSitePolicy(std::string_view toml, std::string_view source) {
  if (toml.size() > kMaxPolicyBytes) {
    return base::InvalidArgument("{}: {} bytes, a policy has at most {}", source, toml.size(),
                                 kMaxPolicyBytes);
  }
  TACET_ASSIGN_OR_RETURN(const base::JsonValue root, ParseToml(toml, source));
  TACET_ASSIGN_OR_RETURN(policy::SitePolicy policy, policy::ReadSitePolicy(root, source));
  for (const std::string& kind : policy.question_kinds) {
    TACET_RETURN_IF_ERROR(base::Annotate(tacet::statistics::ParseQuestionKind(kind).status(),
                                         fmt::format("{}: key `query.kinds`", source)));
  }
  return policy;
}

absl::StatusOr<policy::DataUse> DataUseOf(const RunConfig& agreed, std::string site,
                                          std::optional<uint64_t> records) {
  policy::DataUse use{.site = std::move(site),
                      .records = records,
                      .renames_columns = !agreed.data.csv_columns.empty(),
                      .person_column = agreed.data.csv_person_column};
  if (IsQuery(agreed)) {
    TACET_ASSIGN_OR_RETURN(const LoadedQuery loaded, ParseQuery(agreed.query.text, "the query"));
    use.kind = agreement::kQueryModel;
    use.renames_columns = !loaded.file.columns.empty();
    use.person_column = loaded.file.person_column;
    use.columns = loaded.query->columns();
    use.floor = loaded.query->spec().floor;
    for (const tacet::statistics::QuestionPlan& plan : loaded.query->questions()) {
      use.questions.push_back({.name = plan.spec.name,
                               .kind = std::string(QuestionKindName(plan.asked_kind())),
                               .columns = plan.columns(),
                               .keeps_floor = plan.kind().keeps_floor,
                               .names_sites = !plan.spec.sites.empty()});
    }
    for (const std::string& named : {loaded.file.person_column, loaded.file.site_column}) {
      if (!named.empty()) use.columns->push_back(named);
    }
    return use;
  }
  if (agreed.data.csv_features.empty()) return use;
  std::vector<std::string> columns = {agreed.data.csv_label_column};
  if (!agreed.data.csv_person_column.empty()) columns.push_back(agreed.data.csv_person_column);
  for (const std::string& text : agreed.data.csv_features) {
    TACET_ASSIGN_OR_RETURN(data::CsvFeature feature, data::ParseCsvFeature(text));
    columns.push_back(std::move(feature.column));
  }
  use.columns = std::move(columns);
  return use;
}

}  // namespace tacet::config
