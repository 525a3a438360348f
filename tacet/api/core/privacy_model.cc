#include "tacet/api/core/privacy_model.h"

#include <utility>

namespace tacet {
namespace {

// Enumerators of both enumerations in the same order, one pair each.
template <typename Public, typename Internal, size_t kSize>
using Pairs = std::pair<Public, Internal>[kSize];

constexpr Pairs<Unit, accounting::Unit, 3> kUnits = {
    {Unit::kClient, accounting::Unit::kClient},
    {Unit::kPerson, accounting::Unit::kPerson},
    {Unit::kRecord, accounting::Unit::kRecord},
};
constexpr Pairs<Neighbouring, accounting::Neighbouring, 2> kNeighbourings = {
    {Neighbouring::kReplaceOne, accounting::Neighbouring::kReplaceOne},
    {Neighbouring::kZeroOut, accounting::Neighbouring::kZeroOut},
};
constexpr Pairs<Sampling, accounting::Sampling, 3> kSamplings = {
    {Sampling::kNone, accounting::Sampling::kNone},
    {Sampling::kFixedSize, accounting::Sampling::kFixedSize},
    {Sampling::kPoisson, accounting::Sampling::kPoisson},
};
constexpr Pairs<Observer, accounting::Observer, 9> kObservers = {
    {Observer::kExternal, accounting::Observer::kExternal},
    {Observer::kParticipantInCohort, accounting::Observer::kParticipantInCohort},
    {Observer::kParticipantOutOfCohort, accounting::Observer::kParticipantOutOfCohort},
    {Observer::kColluders, accounting::Observer::kColluders},
    {Observer::kCohortAware, accounting::Observer::kCohortAware},
    {Observer::kTrafficAware, accounting::Observer::kTrafficAware},
    {Observer::kCoalition, accounting::Observer::kCoalition},
    {Observer::kServerWithKeyHolder, accounting::Observer::kServerWithKeyHolder},
    {Observer::kPublishedParticipant, accounting::Observer::kPublishedParticipant},
};
constexpr Pairs<Accountant, accounting::Accountant, 7> kAccountants = {
    {Accountant::kMoments, accounting::Accountant::kMoments},
    {Accountant::kRdp, accounting::Accountant::kRdp},
    {Accountant::kPld, accounting::Accountant::kPld},
    {Accountant::kFixedSizeTight, accounting::Accountant::kFixedSizeTight},
    {Accountant::kFixedOrderRdp, accounting::Accountant::kFixedOrderRdp},
    {Accountant::kGaussianFilter, accounting::Accountant::kGaussianFilter},
    {Accountant::kBudget, accounting::Accountant::kBudget},
};
constexpr Pairs<Standing, accounting::Standing, 3> kStandings = {
    {Standing::kGuarantee, accounting::Standing::kGuarantee},
    {Standing::kConvention, accounting::Standing::kConvention},
    {Standing::kNone, accounting::Standing::kNone},
};

// A value beside the enumerators, which only a cast can make, is the last one.
template <typename Table, typename Public>
constexpr auto ToInternal(const Table& table, Public value) {
  auto found = std::begin(table);
  while (found->first != value && found + 1 != std::end(table)) ++found;
  return found->second;
}
template <typename Table, typename Internal>
constexpr auto ToPublic(const Table& table, Internal value) {
  auto found = std::begin(table);
  while (found->second != value && found + 1 != std::end(table)) ++found;
  return found->first;
}

}  // namespace

namespace api {

accounting::Unit Internal(Unit unit) { return ToInternal(kUnits, unit); }
accounting::Neighbouring Internal(Neighbouring neighbouring) {
  return ToInternal(kNeighbourings, neighbouring);
}
accounting::Sampling Internal(Sampling sampling) { return ToInternal(kSamplings, sampling); }
accounting::Observer Internal(Observer observer) { return ToInternal(kObservers, observer); }
accounting::Accountant Internal(Accountant accountant) {
  return ToInternal(kAccountants, accountant);
}

Unit Public(accounting::Unit unit) { return ToPublic(kUnits, unit); }
Observer Public(accounting::Observer observer) { return ToPublic(kObservers, observer); }
Accountant Public(accounting::Accountant accountant) { return ToPublic(kAccountants, accountant); }
Standing Public(accounting::Standing standing) { return ToPublic(kStandings, standing); }
Sampling Public(accounting::Sampling sampling) { return ToPublic(kSamplings, sampling); }

}  // namespace api

std::string_view Name(Unit unit) { return accounting::UnitName(api::Internal(unit)); }
std::string_view Name(Neighbouring neighbouring) {
  return accounting::NeighbouringName(api::Internal(neighbouring));
}
std::string_view Name(Sampling sampling) {
  return accounting::SamplingName(api::Internal(sampling));
}
std::string_view Name(Observer observer) {
  return accounting::ObserverName(api::Internal(observer));
}
std::string_view Name(Accountant accountant) {
  return accounting::AccountantName(api::Internal(accountant));
}
std::string_view Name(Standing standing) {
  return accounting::StandingName(ToInternal(kStandings, standing));
}

}  // namespace tacet
