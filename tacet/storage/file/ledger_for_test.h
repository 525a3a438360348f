// Sample charges for the tests of ledger files.
#ifndef TACET_STORAGE_FILE_LEDGER_FOR_TEST_H_
#define TACET_STORAGE_FILE_LEDGER_FOR_TEST_H_

#include "tacet/ledger/privacy_ledger.h"

namespace tacet::storage::file {

// A round of a quarter of the members, in a federation of very many rounds.
inline ledger::AttemptCost Cost() {
  ledger::AttemptCost cost;
  cost.event.noise_stddev = 6;
  cost.event.sampling_rate = 0.25;
  cost.rounds = 1'000'000;
  cost.spare_attempts = 0;
  return cost;
}

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_LEDGER_FOR_TEST_H_
