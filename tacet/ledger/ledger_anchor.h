// Anchor of a ledger: what a ledger must at least hold, written down next to it and wherever else
// it is remembered.
#ifndef TACET_LEDGER_LEDGER_ANCHOR_H_
#define TACET_LEDGER_LEDGER_ANCHOR_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"

namespace tacet::ledger {

// The least number of records, and the hash of the last of them.
struct LedgerAnchor {
  std::string population = {};  // whose ledger it is
  crypto::Digest genesis{};     // hash of the header
  uint64_t count = 0;
  crypto::Digest head{};  // hash of record `count`; genesis when there is none

  friend bool operator==(const LedgerAnchor&, const LedgerAnchor&) = default;
};

base::Bytes WriteLedgerAnchor(const LedgerAnchor& anchor);
// DataLoss says which field is cut short or wrong.
absl::StatusOr<LedgerAnchor> ReadLedgerAnchor(std::span<const uint8_t> bytes);

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_ANCHOR_H_
