// Answers of a query, held against the text that was agreed and against the released sum.
#ifndef TACET_RUN_ANSWER_CHECK_H_
#define TACET_RUN_ANSWER_CHECK_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/json.h"
#include "tacet/config/agreed_query.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/abstention.h"
#include "tacet/run/run_reader.h"
#include "tacet/statistics/estimate.h"

namespace tacet::run {

// The query in `agreed`, the text whose digest is the agreement's annex. DataLoss when it is
// another text, or when the agreement does not answer its query; errors of a text that holds none.
absl::StatusOr<config::LoadedQuery> AgreedQuery(std::string_view agreed,
                                                const agreement::ManifestSpec& spec);

// Whether `answers`, in the form of answers.json, are about the questions of the query, whatever
// the numbers. DataLoss names the first difference.
absl::Status CheckQuestions(const config::LoadedQuery& loaded, const base::JsonValue& answers);

// Whether `answers` name as missing the members of these abstentions, in their order. DataLoss if
// not.
absl::Status CheckMissing(const base::JsonValue& answers,
                          std::span<const protocol::Abstention> abstentions);

// Whether all numbers of `answers` follow from the released model's bytes. DataLoss names the first
// that does not.
absl::Status CheckAnswers(const config::LoadedQuery& loaded, const agreement::Manifest& manifest,
                          std::span<const uint8_t> model, const base::JsonValue& answers);

// The content of a run directory of a query that was answered.
struct RunAnswers {
  std::string agreed;                               // agreed.toml
  crypto::Digest text{};                            // SHA-256 of the query file
  base::JsonValue answers;                          // answers.json
  std::vector<tacet::statistics::Answer> computed;  // they, from the released model
};

// Absent for a training, and before the query was answered. DataLoss names the file that does not
// fit the manifest, the query or the released model.
absl::StatusOr<std::optional<RunAnswers>> AnswersOfRun(const run::RunRecord& run);

}  // namespace tacet::run

#endif  // TACET_RUN_ANSWER_CHECK_H_
