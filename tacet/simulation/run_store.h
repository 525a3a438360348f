// Storage interface of a run's state that must survive a crash.
#ifndef TACET_SIMULATION_RUN_STORE_H_
#define TACET_SIMULATION_RUN_STORE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/secret.h"
#include "tacet/ledger/ledger_store.h"

namespace tacet::simulation {

// An attempt that was begun, and therefore charged.
struct BegunAttempt {
  uint32_t epoch = 0;
  uint32_t round = 0;
  uint32_t attempt = 0;

  friend bool operator==(const BegunAttempt&, const BegunAttempt&) = default;
};

// Every call is durable when it returns OK: a process killed at any later moment finds it again.
class RunStore {
 public:
  virtual ~RunStore() = default;

  // Called before anything of the attempt is sealed.
  virtual absl::Status RecordAttempt(const BegunAttempt& attempt) = 0;
  virtual absl::StatusOr<std::vector<BegunAttempt>> Attempts() const = 0;

  // Replaces the checkpoint as a whole.
  virtual absl::Status SaveCheckpoint(std::span<const uint8_t> checkpoint) = 0;
  // NotFound when none was saved.
  virtual absl::StatusOr<base::Bytes> LoadCheckpoint() const = 0;

  // The secret under which the run's ledger names the data (data_digest.h): kDataKeyBytes, drawn
  // once. FailedPrecondition when it was lost while there is a ledger.
  virtual absl::StatusOr<crypto::SecretBytes> DataKey() = 0;

  // The run's ledger, made with this header when there is none. FailedPrecondition when it was made
  // for other terms.
  virtual absl::StatusOr<ledger::OpenedLedger> OpenLedger(const ledger::LedgerHeader& header) = 0;
};

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_RUN_STORE_H_
