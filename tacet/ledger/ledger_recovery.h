// Recovery of a ledger: what its bytes hold, judged by its anchor.
#ifndef TACET_LEDGER_LEDGER_RECOVERY_H_
#define TACET_LEDGER_LEDGER_RECOVERY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"
#include "tacet/ledger/ledger_anchor.h"
#include "tacet/ledger/ledger_format.h"

namespace tacet::ledger {

// A ledger as it was found.
struct RecoveredLedger {
  LedgerHeader header;
  std::vector<LedgerEntry> entries = {};     // charges
  std::vector<LedgerRefusal> refusals = {};  // and the other records, each kind in its order
  std::vector<LedgerPolicy> policies = {};
  std::vector<crypto::Digest> hashes = {};  // of all records, in their order
  uint64_t last_time = 0;                   // of the last record; 0: there is none
  LedgerAnchor end = {};                    // what the anchor should say
  uint64_t anchored = 0;                    // what it says
  uint64_t whole_bytes = 0;                 // header and complete records
  uint64_t torn_bytes = 0;                  // after them: an append that a crash cut short
};

// The anchor of a ledger that has its header only.
LedgerAnchor EmptyLedgerEnd(const LedgerHeader& header);

// Reads a ledger and holds it against its anchor. Accepted are exactly: as many complete, chained
// records as the anchor says, or one more (a crash before the anchor was renewed; it counts as
// spent), and after them less than a record, or a record's bytes that end in 16 zero bytes (space
// that was never filled): nothing was sealed for those, since the append had not returned.
// Anything else is DataLoss naming the record, the byte where it begins and what to do.
absl::StatusOr<RecoveredLedger> RecoverLedger(std::span<const uint8_t> ledger,
                                              std::span<const uint8_t> anchor);

// The same for a ledger that was read after its anchor and may have grown in between: more records
// than one may follow those that the anchor knows, and the first that does not continue the chain
// is being written.
absl::StatusOr<RecoveredLedger> RecoverSnapshot(std::span<const uint8_t> ledger,
                                                std::span<const uint8_t> anchor);

// End of a ledger as somebody knows it who has read that far.
struct KnownEnd {
  LedgerAnchor end;
  uint64_t last_time = 0;
};

// Records after a known end.
struct LedgerTail {
  std::vector<LedgerRecord> records = {};
  std::vector<crypto::Digest> hashes = {};
  KnownEnd known = {};  // after them
  uint64_t anchored = 0;
  uint64_t torn_bytes = 0;
};

// The records that others have appended behind `known`: `bytes` is the ledger from there on. By the
// rules of RecoverLedger; an anchor that knows fewer records than `known` is DataLoss, too. The
// caller sees whether a label stands there twice.
absl::StatusOr<LedgerTail> RecoverTail(const LedgerHeader& header, const KnownEnd& known,
                                       std::span<const uint8_t> bytes,
                                       std::span<const uint8_t> anchor);

// OK when `found` holds all that another anchor of this ledger knows. DataLoss for an older ledger
// or another one.
absl::Status CheckReaches(const RecoveredLedger& found, const LedgerAnchor& anchor);

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_RECOVERY_H_
