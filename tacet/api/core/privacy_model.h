// Conversion between the public words of privacy and the accountants'.
#ifndef TACET_API_CORE_PRIVACY_MODEL_H_
#define TACET_API_CORE_PRIVACY_MODEL_H_

#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/accounting/observers.h"
#include "tacet/accounting/privacy_event.h"
#include "tacet/dp/noise_law.h"
#include "tacet/privacy_model.h"

namespace tacet::api {

accounting::Unit Internal(Unit unit);
accounting::Neighbouring Internal(Neighbouring neighbouring);
accounting::Sampling Internal(Sampling sampling);
accounting::Observer Internal(Observer observer);
accounting::Accountant Internal(Accountant accountant);

Unit Public(accounting::Unit unit);
Observer Public(accounting::Observer observer);
Accountant Public(accounting::Accountant accountant);
Standing Public(accounting::Standing standing);
Sampling Public(accounting::Sampling sampling);
NoiseLaw Public(dp::NoiseLaw law);

}  // namespace tacet::api

#endif  // TACET_API_CORE_PRIVACY_MODEL_H_
