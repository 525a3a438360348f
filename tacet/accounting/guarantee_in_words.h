// The guarantee of a federation in words.
#ifndef TACET_ACCOUNTING_GUARANTEE_IN_WORDS_H_
#define TACET_ACCOUNTING_GUARANTEE_IN_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_rows.h"

namespace tacet::accounting {

// The guarantee against one kind of observer.
struct PrivacyGuarantee {
  // The smallest valid bound, and the largest true-positive rate that it leaves an attacker.
  struct Bound {
    double epsilon = 0;
    std::string_view accountant;
    double true_positive_rate = 0;  // in [0, 1], at the statement's false-positive rate
  };
  Observer observer = Observer::kExternal;
  std::string audience;        // the observer, as the beginning of a sentence
  std::string note;            // assumptions of the bound, or the reason why there is none
  uint64_t releases = 0;       // rounds that the bound counts
  std::optional<Bound> bound;  // absent: no guarantee
};

struct PrivacyStatement {
  std::string hidden;     // "one client's whole contribution"
  std::string neighbour;  // its replacement in the other data set: "any other data in its place"
  std::string units;      // "clients", "people" or "records"
  double delta = 0;
  double false_positive_rate = 0;  // that the attacker accepts
  std::vector<PrivacyGuarantee> guarantees;
  std::vector<std::string> limits;  // LimitsOf the federation
};

// Why a run and a ledger state two figures. It stands wherever both are shown.
inline constexpr std::string_view kWhyLedgersDiffer =
    "The run's epsilon and the ledger's differ, because the run's is the tightest proved bound for "
    "all attempts that its agreement permits, while the ledger adds up what was charged so far, of "
    "all federations over its data, by a rule that stays valid whatever is charged next.";

// The false-positive rate of a statement unless another one is asked for.
inline constexpr double kFalsePositiveRate = 0.01;

// `guarantees` are the federation's own, with all rows; `false_positive_rate` is in (0, 1).
absl::StatusOr<PrivacyStatement> StatePrivacy(const FederationPrivacySpec& spec,
                                              const Guarantees& guarantees,
                                              double false_positive_rate = kFalsePositiveRate);
// The same of a training whose terms changed: `guarantees` are those of GuaranteesOfTraining.
absl::StatusOr<PrivacyStatement> StateTraining(TermsInTurn terms, const Guarantees& guarantees,
                                               double false_positive_rate = kFalsePositiveRate);

// Epsilon and delta in two sentences, for one statement.
std::string MeaningOfEpsilonAndDelta(const PrivacyStatement& statement);
// "An attacker that accepts a 1 % false-positive rate can identify at most 3.8 % of ..."
std::string AttackerSentence(const PrivacyStatement& statement,
                             const PrivacyGuarantee::Bound& bound);

// The statement as paragraphs.
std::string StatementText(const PrivacyStatement& statement);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_GUARANTEE_IN_WORDS_H_
