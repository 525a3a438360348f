#include "tacet/api/core/privacy_model.h"

#include <algorithm>
#include <iterator>

namespace tacet {
namespace {

// Enumerators of both enumerations, up to `last`, are in the same order. A value besides them,
// which only a cast can make, is the last one.
template <typename To, typename From>
constexpr To Convert(From value, To last) {
  return std::min(static_cast<To>(value), last);
}

static_assert(std::size(kObservers) == std::size(accounting::kObservers));

}  // namespace

namespace api {

// The enumerations of units differ in their order.
accounting::Unit Internal(Unit unit) {
  if (unit == Unit::kClient) return accounting::Unit::kClient;
  return unit == Unit::kPerson ? accounting::Unit::kPerson : accounting::Unit::kRecord;
}
accounting::Neighbouring Internal(Neighbouring neighbouring) {
  return Convert(neighbouring, accounting::Neighbouring::kZeroOut);
}
accounting::Sampling Internal(Sampling sampling) {
  return Convert(sampling, accounting::Sampling::kPoisson);
}
accounting::Observer Internal(Observer observer) {
  return Convert(observer, accounting::Observer::kPublishedParticipant);
}
accounting::Accountant Internal(Accountant accountant) {
  return Convert(accountant, accounting::Accountant::kBudget);
}

Unit Public(accounting::Unit unit) {
  if (unit == accounting::Unit::kClient) return Unit::kClient;
  return unit == accounting::Unit::kPerson ? Unit::kPerson : Unit::kRecord;
}
Observer Public(accounting::Observer observer) {
  return Convert(observer, Observer::kPublishedParticipant);
}
Accountant Public(accounting::Accountant accountant) {
  return Convert(accountant, Accountant::kBudget);
}
Standing Public(accounting::Standing standing) { return Convert(standing, Standing::kNone); }
Sampling Public(accounting::Sampling sampling) { return Convert(sampling, Sampling::kPoisson); }
NoiseLaw Public(dp::NoiseLaw law) { return Convert(law, NoiseLaw::kDiscreteLaplace); }

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
  return accounting::StandingName(Convert(standing, accounting::Standing::kNone));
}
std::string_view Name(NoiseLaw law) {
  return dp::NoiseLawName(Convert(law, dp::NoiseLaw::kDiscreteLaplace));
}

}  // namespace tacet
