// A query as a file says it: docs/formats/query.md.
#ifndef TACET_STATISTICS_QUERY_TEXT_H_
#define TACET_STATISTICS_QUERY_TEXT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_target.h"
#include "tacet/base/json.h"
#include "tacet/dp/noise_law.h"
#include "tacet/statistics/query.h"
#include "tacet/table/thousands.h"

namespace tacet::statistics {

// Contents of a query file, unchecked but for the form.
struct QueryFile {
  QuerySpec query;
  // Columns that name a row's site and person; empty: each file is a site; rows have no person.
  std::string site_column = {};
  std::string person_column = {};
  std::vector<std::string> columns = {};  // names, for files without a header
  bool decimal_comma = false;
  table::Thousands thousands = table::Thousands::kUnsaid;
  accounting::PrivacyTarget privacy = {};  // unit and neighbouring are the query's
  // The query's; none: as ChooseNoiseLaw says (noise_choice.h).
  std::optional<dp::NoiseLaw> noise_law = std::nullopt;
  // Instead of a target epsilon: sigma / S, or sigma in units of the query's vector.
  double noise_multiplier = 0;
  double noise_stddev = 0;
  uint64_t appearances = 1;
  uint64_t spare_attempts = 0;  // that may be charged in addition to the one
};

// Reads the tables of a TOML file. InvalidArgument names the key: of unknown keys, missing ones and
// values of another type.
absl::StatusOr<QueryFile> ReadQueryFile(const base::JsonValue& file);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_QUERY_TEXT_H_
