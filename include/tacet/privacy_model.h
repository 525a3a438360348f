// Vocabulary of a privacy guarantee: its unit, its neighbouring relation, the sampling of cohorts,
// the observers and the accountants.
#ifndef TACET_PRIVACY_MODEL_H_
#define TACET_PRIVACY_MODEL_H_

#include <string_view>

namespace tacet {

// Unit of privacy: the data that the guarantee hides.
enum class Unit {
  kClient,  // all data of one client
  kPerson,  // all records of one person
  kRecord,  // one record
};

// Pairs of data sets that must look alike. The number of units is the same in both.
enum class Neighbouring {
  kReplaceOne,  // one unit's data become any other data: sensitivity 2 S
  kZeroOut,     // one unit's contribution becomes zero, its noise is still sent: sensitivity S
};

// Draw of the cohort of a round.
enum class Sampling {
  kNone,       // every client takes part in every round
  kFixedSize,  // K of M clients, uniformly and without replacement
  kPoisson,    // each client by an independent coin of probability K / M
};

// Adversary for whom a guarantee is computed.
enum class Observer {
  kExternal,                // sees every model, knows no cohort
  kParticipantInCohort,     // a client that takes part in every round, and knows its own noise
  kParticipantOutOfCohort,  // a client that takes part in no round
  kColluders,               // `colluders` clients together
  kCohortAware,             // knows who took part: server, network, operators
  kTrafficAware,            // the same, where dummy uploads hide who took part
  kCoalition,               // the server and `colluders` clients, few of them on the committee
  kServerWithKeyHolder,     // without a committee only: the server and one client
  kPublishedParticipant,    // a client by the convention of the paper that tacet follows
};

// Every value of these, in the order of the enumerations.
inline constexpr Unit kUnits[] = {Unit::kClient, Unit::kPerson, Unit::kRecord};
inline constexpr Neighbouring kNeighbourings[] = {Neighbouring::kReplaceOne,
                                                  Neighbouring::kZeroOut};
inline constexpr Sampling kSamplings[] = {Sampling::kNone, Sampling::kFixedSize,
                                          Sampling::kPoisson};
inline constexpr Observer kObservers[] = {
    Observer::kExternal,  Observer::kParticipantInCohort, Observer::kParticipantOutOfCohort,
    Observer::kColluders, Observer::kCohortAware,         Observer::kTrafficAware,
    Observer::kCoalition, Observer::kServerWithKeyHolder, Observer::kPublishedParticipant,
};

// Method by which epsilon is computed.
enum class Accountant {
  kMoments,         // moments accountant
  kRdp,             // Renyi differential privacy
  kPld,             // privacy loss distributions
  kFixedSizeTight,  // tight bound for cohorts of fixed size
  kFixedOrderRdp,   // Renyi differential privacy at one order, which judges adaptive charges
  kGaussianFilter,  // one Gaussian release, which judges adaptive charges that are not sampled
  kBudget,          // the agreement's budget, at which members stop
};

// Meaning of a row of a guarantee.
enum class Standing {
  kGuarantee,   // proved for this observer
  kConvention,  // shown for comparison with the literature, not proved
  kNone,        // there is no bound
};

// Law of the noise in a sum.
enum class NoiseLaw {
  kGaussian,
  kDiscreteLaplace,  // of queries that count rows, by cells: pure epsilon
};

// The words of tables, JSON and the command line: "replace-one", "fixed-size", "coalition", "pld".
std::string_view Name(Unit unit);
std::string_view Name(Neighbouring neighbouring);
std::string_view Name(Sampling sampling);
std::string_view Name(Observer observer);
std::string_view Name(Accountant accountant);
std::string_view Name(Standing standing);
std::string_view Name(NoiseLaw law);

}  // namespace tacet

#endif  // TACET_PRIVACY_MODEL_H_
