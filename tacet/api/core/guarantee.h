// Conversion of the accountants' rows to the public guarantee.
#ifndef TACET_API_CORE_GUARANTEE_H_
#define TACET_API_CORE_GUARANTEE_H_

#include "tacet/accounting/privacy_rows.h"
#include "tacet/guarantee.h"

namespace tacet::api {

Guarantee PublicGuarantee(const accounting::Guarantees& guarantees, double delta);

}  // namespace tacet::api

#endif  // TACET_API_CORE_GUARANTEE_H_
