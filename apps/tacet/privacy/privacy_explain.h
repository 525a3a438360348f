// What a federation promises, in words.
#ifndef TACET_APPS_TACET_PRIVACY_PRIVACY_EXPLAIN_H_
#define TACET_APPS_TACET_PRIVACY_PRIVACY_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/json.h"

namespace tacet::app {

// What is promised against one kind of observer.
struct PrivacyPromise {
  // The smallest valid bound, and the power that it leaves an attacker.
  struct Bound {
    double epsilon = 0;
    std::string_view accountant;
    double power = 0;  // in [0, 1], at the statement's rate of false accusations
  };
  accounting::View view = accounting::View::kOutsider;
  std::string audience;        // who it is, the beginning of a sentence
  std::string note;            // what the bound assumes, or why there is none
  uint64_t releases = 0;       // rounds that the bound counts
  std::optional<Bound> bound;  // absent: nothing is promised
};

struct PrivacyStatement {
  std::string hidden;     // "one client's whole contribution"
  std::string neighbour;  // what might stand in its place: "any other data in its place"
  double delta = 0;
  double false_accusations = 0;  // the probability of accusing wrongly that the attacker accepts
  std::vector<PrivacyPromise> promises;
  std::vector<std::string> limits;  // what no figure covers, a sentence or two each
};

// The rate of false accusations that a statement speaks of unless it is asked for another.
inline constexpr double kFalseAccusations = 0.01;

// To whom what is promised. `rows` are the federation's own; `false_accusations` is in (0, 1).
absl::StatusOr<PrivacyStatement> StatePrivacy(const accounting::FederationPrivacySpec& spec,
                                              const std::vector<accounting::PrivacyRow>& rows,
                                              double false_accusations = kFalseAccusations);

// The statement as paragraphs, and for pages.
std::string StatementText(const PrivacyStatement& statement);
base::JsonValue StatementJson(const PrivacyStatement& statement);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_PRIVACY_PRIVACY_EXPLAIN_H_
