// Number of an attempt within a federation: the key by which ledgers charge and stores sort.
#ifndef TACET_AGREEMENT_ATTEMPT_NUMBER_H_
#define TACET_AGREEMENT_ATTEMPT_NUMBER_H_

#include <compare>
#include <cstdint>

#include "tacet/secagg/attempt.h"

namespace tacet::agreement {

struct AttemptNumber {
  uint32_t epoch = 0;
  uint32_t round = 0;
  uint32_t attempt = 0;

  friend auto operator<=>(const AttemptNumber&, const AttemptNumber&) = default;
};

inline AttemptNumber NumberOf(const secagg::Attempt& attempt) {
  return {.epoch = attempt.epoch, .round = attempt.round, .attempt = attempt.attempt};
}

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_ATTEMPT_NUMBER_H_
