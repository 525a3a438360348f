// Privacy guarantees of a run on disk, computed again from its manifest and its ledger.
#ifndef TACET_RUN_RUN_GUARANTEES_H_
#define TACET_RUN_RUN_GUARANTEES_H_

#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/base/json.h"
#include "tacet/run/run_reader.h"

namespace tacet::run {

struct RunGuarantees {
  base::JsonValue rows;  // PrivacyJson: rows, or a reason why there are none
  // agreement::ChargedEpsilon, a forecast, and the attempts that the rows are for; null with a
  // reason.
  base::JsonValue charged_epsilon;
  base::JsonValue permitted_attempts;
  std::optional<accounting::PrivacyStatement> statement;  // absent exactly when there are no rows
};

// For all attempts that the agreement of each run permits; an attacker's true-positive rate is
// given at kFalsePositiveRate. Statements take seconds of computing: runs with the same guarantee
// share one, different ones are worked out side by side. Errors name the run.
absl::StatusOr<std::vector<RunGuarantees>> GuaranteesOf(std::span<const run::RunRecord> runs);

}  // namespace tacet::run

#endif  // TACET_RUN_RUN_GUARANTEES_H_
