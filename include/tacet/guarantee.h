// Privacy guarantee of a federation: epsilon for every observer, and the headline.
#ifndef TACET_GUARANTEE_H_
#define TACET_GUARANTEE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/federation_options.h"
#include "tacet/privacy_model.h"

namespace tacet {

// One observer, one accountant.
struct GuaranteeRow {
  Observer observer = Observer::kExternal;
  Accountant accountant = Accountant::kMoments;
  Standing standing = Standing::kGuarantee;
  // True for a row that is shown next to the others and never the headline: the observer knows what
  // the protocol hides, or the number of participations is only the expected one.
  bool hypothetical = false;
  // Upper bound of epsilon; absent exactly when standing is kNone.
  std::optional<double> epsilon = std::nullopt;
  // The true epsilon of this observer is at least this, where known.
  std::optional<double> epsilon_lower = std::nullopt;
  double delta = 0;
  double order = 0;  // Renyi order of the bound; 0 for accountants without orders
  NoiseLaw noise_law = NoiseLaw::kGaussian;
  double noise_stddev = 0;   // noise in the sum that the observer does not know
  double sampling_rate = 0;  // probability that a unit is in a round, as far as hidden from it
  uint64_t releases = 0;     // rounds that are counted
  // The part of epsilon and delta from finite arithmetic: rounding and bounded noise. Known for an
  // Agreement, which fixes dimension and mechanism; else absent.
  std::optional<double> added_epsilon = std::nullopt;
  std::optional<double> added_delta = std::nullopt;
  // Assumptions of the figure, or the reason why there is none.
  std::string note = {};
};

struct Guarantee {
  // The headline: the smallest valid bound for the worst observer that has a guarantee. Infinity
  // when some observer that should have a guarantee has no finite bound.
  double epsilon = std::numeric_limits<double>::infinity();
  double delta = 0;
  // Place of the headline in `rows`; absent when epsilon is infinite.
  std::optional<size_t> headline = std::nullopt;
  // Observers in the order of their enumeration, several accountants each.
  std::vector<GuaranteeRow> rows = {};
};

// Guarantee of `federation` after its `rounds` releases. InvalidArgument names the option that is
// wrong. Takes 0.1 to a few seconds.
absl::StatusOr<Guarantee> ComputeGuarantee(const FederationOptions& federation);

// The same in words: what is protected, what each observer can learn, and what is not guaranteed.
// `false_positive_rate` in (0, 1) is the rate that an attacker accepts when it claims that somebody
// was in the training data.
absl::StatusOr<std::string> ExplainGuarantee(const FederationOptions& federation,
                                             double false_positive_rate = 0.01);

}  // namespace tacet

#endif  // TACET_GUARANTEE_H_
