// The terms of an agreement, in one table.
//
// The canonical bytes, the keys of a configuration, the flags of `tacet privacy`, the ranges of
// counts and the comparison of two epochs follow from it. A new term is one line here, and another
// one where it is a flag, next to its member and its documentation.
#ifndef TACET_AGREEMENT_TERMS_TABLE_H_
#define TACET_AGREEMENT_TERMS_TABLE_H_

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "tacet/agreement/manifest.h"

namespace tacet::agreement {

// Which values of a term protect less than the ones before.
enum class Weaker : uint8_t {
  kNever,
  kLess,
  kMore,
  kMoreOrNone,   // 0 is without a limit
  kByWord,       // as the word's own rule says
  kNotCompared,  // changes of it are shown in another way
};

struct Term {
  // Key of the configuration; without a "." the term follows from the model, the data, the members
  // or the epoch.
  std::string_view key;
  Weaker weaker = Weaker::kNever;
  // Range of a count, or of the bytes of a text. A count that may be above 2^32 - 1 has 8 bytes in
  // the manifest, the others have 4.
  uint64_t least = 0;
  uint64_t most = std::numeric_limits<uint32_t>::max();

  constexpr std::string_view name() const { return key.substr(key.rfind('.') + 1); }
};

inline constexpr uint32_t kMaxRounds = 1'000'000;
inline constexpr uint64_t kMaxDimension = uint64_t{1} << 40;

// Calls visit(term, members...) for each term that is signed, in the order of the bytes. `members`
// are those of `specs`, which are of type ManifestSpec or const ManifestSpec.
template <typename Visitor, typename... Specs>
void VisitSignedTerms(Visitor&& visit, Specs&... specs) {
  using enum Weaker;
  constexpr uint64_t kWide = std::numeric_limits<uint64_t>::max();
  visit(Term{"federation", kNotCompared}, specs.federation...);
  visit(Term{"training", kNotCompared}, specs.training...);
  visit(Term{"model", kNever, 0, 255}, specs.model...);
  visit(Term{"dimension", kNever, 1, kMaxDimension}, specs.dimension...);
  visit(Term{"initial_model", kNotCompared}, specs.initial_model...);
  visit(Term{"clients", kNotCompared, 1, kWide}, specs.sampling.clients...);
  visit(Term{"federation.cohort"}, specs.sampling.cohort...);
  visit(Term{"federation.min_participants", kLess}, specs.sampling.min_participants...);
  visit(Term{"federation.rounds", kMore, 1, kMaxRounds}, specs.rounds...);
  visit(Term{"federation.spare_attempts", kMore, 0, kMaxRounds}, specs.spare_attempts...);
  visit(Term{"federation.committee_seats"}, specs.committee.seats...);
  visit(Term{"federation.committee_corrupt", kLess}, specs.committee.corrupt...);
  visit(Term{"federation.committee_packing"}, specs.committee.packing...);
  visit(Term{"committee_members", kNotCompared}, specs.committee_members...);
  visit(Term{"federation.sampling"}, specs.sampling.method...);
  visit(Term{"privacy.clip_norm", kMore}, specs.mechanism.clip_norm...);
  visit(Term{"privacy.coordinate_bound", kMore}, specs.mechanism.coordinate_bound...);
  visit(Term{"privacy.noise_stddev", kLess}, specs.mechanism.noise_stddev...);
  visit(Term{"noise_law"}, specs.mechanism.noise_law...);
  visit(Term{"privacy.scale"}, specs.mechanism.scale...);
  visit(Term{"privacy.delta", kMore}, specs.privacy.delta...);
  visit(Term{"privacy.sampler"}, specs.mechanism.sampler...);
  visit(Term{"run.no_noise", kMore}, specs.mechanism.without_noise...);
  visit(Term{"run.no_clip", kMore}, specs.mechanism.without_clipping...);
  visit(Term{"aggregation.parameters"}, specs.scheme...);
  visit(Term{"server.learning_rate"}, specs.optimizer.learning_rate...);
  visit(Term{"server.learning_rate_final"}, specs.optimizer.learning_rate_final...);
  visit(Term{"server.momentum"}, specs.optimizer.momentum...);
  visit(Term{"privacy.budget_epsilon", kMoreOrNone}, specs.privacy.budget_epsilon...);
  visit(Term{"aggregation.plaintext_bits"}, specs.plaintext_bits...);
  visit(Term{"privacy.unit", kByWord}, specs.privacy.unit...);
  visit(Term{"privacy.neighbouring", kByWord}, specs.privacy.neighbouring...);
  visit(Term{"privacy.record_rate", kMore}, specs.sampling.record_rate...);
  visit(Term{"privacy.expected_batch"}, specs.sampling.expected_batch...);
  visit(Term{"privacy.appearances", kLess}, specs.sampling.appearances...);
  visit(Term{"privacy.colluders", kLess}, specs.privacy.colluders...);
  visit(Term{"federated_part", kNever, 0, 1 << 16}, specs.federated_part...);
  visit(Term{"whole_dimension", kNever, 0, kWide}, specs.whole_dimension...);
  visit(Term{"annex", kNotCompared}, specs.annex...);
  visit(Term{"federation.dummy_uploads", kLess}, specs.sampling.dummy_uploads...);
  visit(Term{"federation.max_participations", kMoreOrNone}, specs.sampling.max_participations...);
}

// The same for what is configured and not signed: what chooses a signed term, and what simulations
// alone have.
template <typename Visitor, typename... Specs>
void VisitUnsignedTerms(Visitor&& visit, Specs&... specs) {
  visit(Term{"federation.max_absent"}, specs.sampling.max_absent...);
  visit(Term{"privacy.target_epsilon"}, specs.privacy.target_epsilon...);
  visit(Term{"run.no_encryption"}, specs.without_encryption...);
}

template <typename Visitor, typename... Specs>
void VisitTerms(Visitor&& visit, Specs&... specs) {
  VisitSignedTerms(visit, specs...);
  VisitUnsignedTerms(visit, specs...);
}

// Help of the flags that plan a federation, by the name of the term.
struct TermFlag {
  std::string_view term;
  std::string_view help;
};
inline constexpr TermFlag kTermFlags[] = {
    {"clients", "M, number of clients in the federation; for --unit person or record of sites"},
    {"cohort", "K, number of clients drawn for a round"},
    {"min_participants",
     "K_min, uploads below which a round is not decrypted; 0: all but --max-absent, or with "
     "poisson and without --dummy-uploads a size that is missed once in 1e9 rounds"},
    {"max_absent",
     "uploads that may be missing from a round, in place of --min-participants; default: 1 up to 8 "
     "uploads, 4 of 20, 16 of 61 and more. K_min is at least --colluders + 2"},
    {"sampling",
     "sampling of a cohort; default: poisson with --dummy-uploads, so that nobody learns the "
     "cohorts"},
    {"dummy_uploads", "clients that were not drawn upload zeros and noise; needs poisson sampling"},
    {"max_participations", "largest number of rounds that one client joins; 0: all"},
    {"unit", "unit of privacy: whose data the guarantee hides"},
    {"neighbouring", "neighbouring relation: pairs of data sets that must look alike"},
    {"colluders", "c, number of clients that collude"},
    {"delta",
     "delta of the (epsilon, delta) guarantee: bound of the probability that the factor e^epsilon "
     "does not cover"},
    {"record_rate", "q_r, probability with which a site draws a record"},
    {"appearances", "largest number of sites at which one person or record appears"},
    {"expected_batch",
     "records (persons) that all sites together draw in a round on average, for the warnings"},
    {"clip_norm", "S, the L2 clip norm of a contribution"},
    {"noise_law",
     "law of the noise; discrete-laplace is that of queries of counts and cells, for --unit person "
     "or record, --record-rate 1, with --clip-norm in L1"},
    {"coordinate_bound",
     "b, bound of one coordinate, for the terms of finite arithmetic; 0: the clip norm"},
    {"scale",
     "s, step of the quantisation, for the terms of finite arithmetic; with discrete-laplace the "
     "step of the noise"},
    {"sampler", "algorithm that draws the noise, for the terms of finite arithmetic"},
};

// The word of a choice, as configurations, bytes and texts have it.
inline std::string_view WordOf(accounting::Sampling value) {
  return accounting::SamplingName(value);
}
inline std::string_view WordOf(accounting::Unit value) { return accounting::UnitName(value); }
inline std::string_view WordOf(accounting::Neighbouring value) {
  return accounting::NeighbouringName(value);
}
inline std::string_view WordOf(dp::NoiseLaw value) { return dp::NoiseLawName(value); }
inline std::string_view WordOf(dp::GaussianSampler value) { return dp::GaussianSamplerName(value); }
inline std::string_view WordOf(he::Scheme value) { return he::SchemeName(value); }

// The values that a flag chooses from. Cohorts that nobody draws follow from K = M.
constexpr std::array<accounting::Sampling, 2> ChoicesOf(std::optional<accounting::Sampling>) {
  using enum accounting::Sampling;
  return {kFixedSize, kPoisson};
}
constexpr std::array<accounting::Unit, 3> ChoicesOf(accounting::Unit) {
  using enum accounting::Unit;
  return {kClient, kPerson, kRecord};
}
constexpr std::array<accounting::Neighbouring, 2> ChoicesOf(accounting::Neighbouring) {
  using enum accounting::Neighbouring;
  return {kReplaceOne, kZeroOut};
}
constexpr std::array<dp::NoiseLaw, 2> ChoicesOf(dp::NoiseLaw) {
  using enum dp::NoiseLaw;
  return {kGaussian, kDiscreteLaplace};
}
constexpr std::array<dp::GaussianSampler, 4> ChoicesOf(dp::GaussianSampler) {
  using enum dp::GaussianSampler;
  return {kDefault, kBoxMuller, kPolar, kZiggurat};
}

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_TERMS_TABLE_H_
