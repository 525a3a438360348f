// Storage interface of a run's state that must survive a crash.
#ifndef TACET_SIMULATION_RUN_STORE_H_
#define TACET_SIMULATION_RUN_STORE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/ledger/ledger_store.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/digest_key.h"

namespace tacet::simulation {

// Every call is durable when it returns OK: a process killed at any later moment finds it again.
class RunStore {
 public:
  virtual ~RunStore() = default;

  // Called before anything of the attempt is sealed.
  virtual absl::Status RecordAttempt(const secagg::AttemptNumber& attempt) = 0;
  // Attempts that were begun, and therefore charged, in the order of the calls above.
  virtual absl::StatusOr<std::vector<secagg::AttemptNumber>> Attempts() const = 0;

  // Replaces the checkpoint as a whole.
  virtual absl::Status SaveCheckpoint(std::span<const uint8_t> checkpoint) = 0;
  // NotFound when none was saved.
  virtual absl::StatusOr<base::Bytes> LoadCheckpoint() const = 0;

  // Remembers the data of the run, by a digest that stays in memory. FailedPrecondition when the
  // run was begun with others.
  virtual absl::Status CheckData(const crypto::Digest& data) = 0;

  // The key of the digests of the run's models, drawn once from `entropy`.
  virtual absl::StatusOr<secagg::DigestKey> DigestKey(crypto::Entropy& entropy) = 0;

  // The run's ledger, made with this header when there is none. FailedPrecondition when it was made
  // for other terms.
  virtual absl::StatusOr<ledger::OpenedLedger> OpenLedger(const ledger::LedgerHeader& header) = 0;
};

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_RUN_STORE_H_
