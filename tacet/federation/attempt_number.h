// An attempt without what it is bound to: what ledgers charge and stores sort by.
#ifndef TACET_FEDERATION_ATTEMPT_NUMBER_H_
#define TACET_FEDERATION_ATTEMPT_NUMBER_H_

#include "tacet/federation/client_ledger.h"
#include "tacet/secagg/attempt.h"

namespace tacet::federation {

inline AttemptNumber NumberOf(const secagg::Attempt& attempt) {
  return {.epoch = attempt.epoch, .round = attempt.round, .attempt = attempt.attempt};
}

}  // namespace tacet::federation

#endif  // TACET_FEDERATION_ATTEMPT_NUMBER_H_
