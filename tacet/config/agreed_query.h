// Query of a configuration: the text of its file, read and checked.
#ifndef TACET_CONFIG_AGREED_QUERY_H_
#define TACET_CONFIG_AGREED_QUERY_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/config/run_config.h"
#include "tacet/statistics/query.h"
#include "tacet/statistics/query_text.h"

namespace tacet::config {

struct LoadedQuery {
  std::string text;
  tacet::statistics::QueryFile file;
  std::shared_ptr<const tacet::statistics::Query> query;
};

// `source` names the text in messages.
absl::StatusOr<LoadedQuery> ParseQuery(std::string_view text, std::string_view source);

// Whether the model of the configuration is a query.
bool IsQuery(const RunConfig& config);

}  // namespace tacet::config

#endif  // TACET_CONFIG_AGREED_QUERY_H_
