#include "apps/tacet/privacy/planned_federation.h"

#include <algorithm>
#include <cmath>

#include "tacet/agreement/manifest.h"
#include "tacet/base/status.h"
#include "tacet/dp/gaussian.h"
#include "tacet/he/key_sharing.h"

namespace tacet::app::privacy {

void PlannedFederation::Register(program::Options& options) {
  options.AddUint("clients",
                  "M, number of clients in the federation; for --unit person or record of sites",
                  &spec_.sampling.clients);
  options.AddUint("cohort", "K, number of clients drawn for a round", &spec_.sampling.cohort);
  options.AddUint("rounds", "T, number of rounds, counting every attempt", &rounds_);
  options.AddDouble("clip-norm", "S, the L2 clip norm of a contribution",
                    &spec_.mechanism.clip_norm);
  options.AddDouble("noise-multiplier",
                    "sigma / S: standard deviation of the noise in the sum over the clip norm",
                    &noise_multiplier_);
  options.AddDouble("noise-stddev",
                    "sigma itself, in units of an update, in place of --noise-multiplier",
                    &noise_stddev_);
  options.AddChoice("noise-law",
                    "law of the noise; discrete-laplace is that of queries of counts and cells, "
                    "for --unit person or record, --record-rate 1, with --clip-norm in L1",
                    {"gaussian", "discrete-laplace"}, &noise_law_);
  options.AddDouble("delta",
                    "delta of the (epsilon, delta) guarantee: bound of the probability that the "
                    "factor e^epsilon does not cover",
                    &spec_.privacy.delta);
  options.AddUint("min-participants",
                  "K_min, uploads below which a round is not decrypted; 0: all but one, or with "
                  "poisson and without --dummy-uploads a size that is missed once in 1e9 rounds",
                  &spec_.sampling.min_participants);
  options.AddChoice("sampling",
                    "sampling of a cohort; default: poisson with --dummy-uploads, so that nobody "
                    "learns the cohorts",
                    {"default", "fixed-size", "poisson"}, &sampling_);
  options.AddChoice("neighbouring",
                    "neighbouring relation: pairs of data sets that must look alike",
                    {"replace-one", "zero-out"}, &neighbouring_);
  options.AddUint("colluders", "c, number of clients that collude", &spec_.privacy.colluders);
  options.AddString("committee",
                    "N,F: seats of the committee that decrypts sums, and how many of them may "
                    "collude with the server; when not given, as a federation of M clients has",
                    &committee_);
  options.AddDouble("availability",
                    "share of the clients that are available in a round, above 0 and at most 1",
                    &availability_);
  options.AddUint("max-participations", "largest number of rounds that one client joins; 0: all",
                  &spec_.sampling.max_participations);
  options.AddFlag("dummy-uploads",
                  "clients that were not drawn upload zeros and noise; needs poisson sampling",
                  &spec_.sampling.dummy_uploads);
  options.AddChoice("unit", "unit of privacy: whose data the guarantee hides",
                    {"client", "person", "record"}, &unit_);
  options.AddDouble("record-rate", "q_r, probability with which a site draws a record",
                    &spec_.sampling.record_rate);
  options.AddUint("appearances", "largest number of sites at which one person or record appears",
                  &spec_.sampling.appearances);
  options.AddUint("dimension",
                  "d, values of one update, for the terms of finite arithmetic (when not given, "
                  "486,654) and the warning about too much noise",
                  &dimension_);
  options.AddDouble("expected-batch",
                    "records (persons) that all sites together draw in a round on average, for "
                    "the warnings",
                    &spec_.sampling.expected_batch);
  options.AddDouble(
      "coordinate-bound",
      "b, bound of one coordinate, for the terms of finite arithmetic; 0: the clip norm",
      &spec_.mechanism.coordinate_bound);
  options.AddDouble("scale",
                    "s, step of the quantisation, for the terms of finite arithmetic; with "
                    "discrete-laplace the step of the noise",
                    &spec_.mechanism.scale);
  options.AddChoice("sampler", "algorithm that draws the noise, for the terms of finite arithmetic",
                    {"default", "box-muller", "polar", "ziggurat"}, &sampler_);
}

absl::StatusOr<accounting::FederationPrivacySpec> PlannedFederation::Read(Varied varied) const {
  accounting::FederationPrivacySpec spec = spec_;
  spec.sampling.method.reset();
  if (sampling_ != "default") {
    TACET_ASSIGN_OR_RETURN(spec.sampling.method, accounting::ParseSampling(sampling_));
  }
  TACET_ASSIGN_OR_RETURN(spec.privacy.neighbouring, accounting::ParseNeighbouring(neighbouring_));
  TACET_ASSIGN_OR_RETURN(spec.privacy.unit, accounting::ParseUnit(unit_));
  TACET_ASSIGN_OR_RETURN(spec.mechanism.noise_law, dp::ParseNoiseLaw(noise_law_));
  TACET_ASSIGN_OR_RETURN(spec.mechanism.sampler, dp::ParseGaussianSampler(sampler_));
  TACET_RETURN_IF_ERROR(SetNoise(varied, spec));
  if (rounds_.has_value() == (varied == Varied::kRounds)) {
    return rounds_ ? base::InvalidArgument("--rounds is what this command varies: leave it out")
                   : base::InvalidArgument("--rounds is missing");
  }
  spec.rounds = rounds_.value_or(1);
  if (!(availability_ > 0 && availability_ <= 1)) {
    return base::InvalidArgument("--availability is {}, expected above 0 and at most 1",
                                 availability_);
  }
  if (availability_ < 1) {
    spec.pool = static_cast<uint64_t>(
        std::floor(availability_ * static_cast<double>(spec.sampling.clients) + 1e-9));
  }
  TACET_RETURN_IF_ERROR(accounting::CheckFederation(spec));
  TACET_RETURN_IF_ERROR(SetCommittee(spec));
  return spec;
}

absl::Status PlannedFederation::SetNoise(Varied varied,
                                         accounting::FederationPrivacySpec& spec) const {
  if (varied == Varied::kNoise) {
    if (noise_multiplier_ || noise_stddev_) {
      return base::InvalidArgument("{} is what this command varies: leave it out",
                                   noise_stddev_ ? "--noise-stddev" : "--noise-multiplier");
    }
    spec.mechanism.noise_stddev = spec.mechanism.clip_norm;
    return absl::OkStatus();
  }
  if (noise_multiplier_.has_value() == noise_stddev_.has_value()) {
    return base::InvalidArgument("--noise-multiplier and --noise-stddev are both {}: give one",
                                 noise_stddev_ ? "given" : "missing");
  }
  if (noise_multiplier_ && !(*noise_multiplier_ >= 0 && std::isfinite(*noise_multiplier_))) {
    return base::InvalidArgument("--noise-multiplier is {}, expected a finite number of 0 or more",
                                 *noise_multiplier_);
  }
  spec.mechanism.noise_stddev =
      noise_stddev_ ? *noise_stddev_ : *noise_multiplier_ * spec.mechanism.clip_norm;
  return absl::OkStatus();
}

absl::Status PlannedFederation::SetCommittee(accounting::FederationPrivacySpec& spec) const {
  const uint64_t clients = spec.sampling.clients;
  he::CommitteeShape shape = agreement::DefaultCommittee(
      clients, static_cast<uint32_t>(std::min<uint64_t>(spec.privacy.colluders, clients - 1)));
  if (committee_) {
    TACET_ASSIGN_OR_RETURN(shape, he::ParseCommittee(*committee_));
    TACET_RETURN_IF_ERROR(he::KeySharing::Create(shape).status());
  }
  if (shape.seats > clients) {
    return base::InvalidArgument("--committee {} has {} seats, the federation only {} clients",
                                 committee_.value_or(""), shape.seats, clients);
  }
  spec.committee_seats = shape.seats;
  spec.corrupt_seats = shape.corrupt;
  return absl::OkStatus();
}

}  // namespace tacet::app::privacy
