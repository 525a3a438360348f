// Options of a federation: the participants, the mechanism and the guarantee that is wanted.
#ifndef TACET_FEDERATION_OPTIONS_H_
#define TACET_FEDERATION_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "tacet/privacy_model.h"

namespace tacet {

// Nothing is checked before the options are used: ComputeGuarantee, the calibration functions and
// Agreement::Create return InvalidArgument, and name the option, its value and its range.
//
// Letters are those of the documentation: M clients, K of them in a cohort, T rounds, clip norm S,
// noise sigma.
struct FederationOptions {
  // -------------------
  // Participants

  // M: number of clients, 1 to 100,000,000. With unit kPerson or kRecord the number of sites.
  // Required, but in an AgreementOptions, where it is the number of members.
  std::optional<uint64_t> clients = std::nullopt;

  // K, 1 to M: clients that are drawn for a round. With kPoisson the expected number. A larger
  // cohort divides the same noise by more clients. A smaller one hides each client better from
  // observers who do not know the cohorts.
  //
  // Default: none, every client
  std::optional<uint64_t> cohort = std::nullopt;

  // K_min, 1 to K (to M with dummy uploads): an aggregate of fewer uploads is never decrypted. Each
  // upload carries a K_min-th part of the noise variance. A smaller K_min tolerates more absent
  // clients, and adds more noise when all of them arrive. At least colluders + 2.
  //
  // Default: none, max(colluders + 2, U - max_absent) with U uploads a round, all clients under
  // dummy uploads and else K. With kPoisson and without dummy uploads the number that is missed
  // once in 1e9 rounds
  std::optional<uint64_t> min_participants = std::nullopt;

  // Uploads that may be missing from a round, for a K_min that follows the number of clients. A
  // smaller K_min is never below colluders + 2. Not with kPoisson without dummy uploads, and not
  // next to another min_participants.
  //
  // Default: none. Where everybody uploads 1 up to 8 uploads, 4 of 20, 16 of 61 and more; else 1
  std::optional<uint64_t> max_absent = std::nullopt;

  // Draw of the cohort. kFixedSize assumes that the party that draws is honest and keeps the
  // cohorts secret from the observers for whom sampling is counted (docs/security/privacy.md).
  // Ignored when K = M and with units kPerson and kRecord.
  //
  // Default: none. With unit kClient and K < M kPoisson with dummy uploads: nobody learns who took
  // part. Else kFixedSize
  std::optional<Sampling> sampling = std::nullopt;

  // Clients that were not drawn upload zeros and noise, so that traffic does not show the cohort.
  // Costs an upload of every client in every round. Needs kPoisson and unit kClient.
  //
  // Default: none: true where `sampling` is chosen by default, else false
  std::optional<bool> dummy_uploads = std::nullopt;

  // At least 1: number of attempts to which one client gives its data at most. When it is drawn
  // again it uploads zeros and noise. Bounds epsilon for observers who know the cohorts. Unit
  // kClient only.
  //
  // Default: none, no limit
  std::optional<uint64_t> max_participations = std::nullopt;

  // T >= 1: number of rounds. ComputeGuarantee counts exactly T releases, so count every attempt.
  // An Agreement permits spare attempts in addition to them (AgreementOptions::spare_attempts).
  uint64_t rounds = 1;

  // -------------------
  // Mechanism. Lengths are in units of the update.

  // S > 0: L2 norm to which one contribution is clipped. Too small, and training is slow; too
  // large, and the noise drowns the updates.
  //
  // Default: 1
  double clip_norm = 1;

  // Standard deviation of the noise in the *sum*, of K_min honest shares. It decides epsilon,
  // together with K, M and T. Exactly one of the two is given:
  // sigma / S > 0, over the clip norm. CalibrateNoise finds it.
  std::optional<double> noise_multiplier = std::nullopt;
  // sigma > 0, in units of the update.
  std::optional<double> noise_stddev = std::nullopt;

  // b > 0: bound of the absolute value of one coordinate of a contribution. Smaller bounds make
  // smaller uploads. Values beyond it are clamped.
  //
  // Default: none, the clip norm; an Agreement with unit kPerson or kRecord needs a value, the
  // largest coordinate of a site's sum
  std::optional<double> coordinate_bound = std::nullopt;

  // s > 0: step of the quantisation. Its rounding is random and unbiased, and adds about the
  // variance s (b + 10 sigma) per upload. A smaller step makes larger uploads.
  //
  // Default: 1e-4
  double scale = 1e-4;

  // -------------------
  // Guarantee

  // Data that the guarantee hides. With kPerson and kRecord every site takes part in every round,
  // and its update is a sum over drawn records (persons), each clipped to S by the caller.
  //
  // Default: kClient
  Unit unit = Unit::kClient;

  // Default: kReplaceOne, the stronger relation
  Neighbouring neighbouring = Neighbouring::kReplaceOne;

  // c, 0 to M - 1: clients that may pool their knowledge, with each other and with the server.
  //
  // Default: 0
  uint64_t colluders = 0;

  // delta in (0, 1) of the guarantee (epsilon, delta). Choose it well below 1 / (number of units).
  //
  // Default: 1e-5
  double delta = 1e-5;

  // The next three are for units kPerson and kRecord alone, which need the first two in an
  // Agreement.

  // q in (0, 1]: probability of the secret coin by which a site draws each record (person).
  std::optional<double> record_rate = std::nullopt;

  // B > 0, public: q times the number of all sites' records (persons). It divides the sum.
  std::optional<double> expected_batch = std::nullopt;

  // Most sites at which one record (person) appears, 1 to M.
  //
  // Default: none, one site
  std::optional<uint64_t> appearances = std::nullopt;

  // -------------------
  // Committee: clients that vote for one sum a round, and release what decrypts it.

  // n, 2 to 20: number of seats. More seats tolerate more colluders and absences.
  //
  // Default: none: all clients up to 7, else 7, or more where colluders are to be tolerated
  std::optional<uint32_t> committee_seats = std::nullopt;

  // f, 0 to (n - 1): seats that may collude with the server without learning a single update. The
  // votes needed are floor((n + f) / 2) + 1.
  //
  // Default: none: a third of the other seats, or as many as `colluders` where the seats allow
  std::optional<uint32_t> corrupt_seats = std::nullopt;
};

// The options as a list: calls visit(name, option) for each, in the order above. `Options` is
// FederationOptions or const FederationOptions. Bindings follow from it.
template <typename Options, typename Visitor>
void VisitOptions(Options& options, Visitor&& visit) {
  visit("clients", options.clients);
  visit("cohort", options.cohort);
  visit("min_participants", options.min_participants);
  visit("max_absent", options.max_absent);
  visit("sampling", options.sampling);
  visit("dummy_uploads", options.dummy_uploads);
  visit("max_participations", options.max_participations);
  visit("rounds", options.rounds);
  visit("clip_norm", options.clip_norm);
  visit("noise_multiplier", options.noise_multiplier);
  visit("noise_stddev", options.noise_stddev);
  visit("coordinate_bound", options.coordinate_bound);
  visit("scale", options.scale);
  visit("unit", options.unit);
  visit("neighbouring", options.neighbouring);
  visit("colluders", options.colluders);
  visit("delta", options.delta);
  visit("record_rate", options.record_rate);
  visit("expected_batch", options.expected_batch);
  visit("appearances", options.appearances);
  visit("committee_seats", options.committee_seats);
  visit("corrupt_seats", options.corrupt_seats);
}

}  // namespace tacet

#endif  // TACET_FEDERATION_OPTIONS_H_
