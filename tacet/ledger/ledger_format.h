// Ledger format: a header that fixes the counting rules, then charges, each chained to the one
// before by its hash. This file has bytes and rules only; a LedgerStore keeps them
// (docs/formats/ledger.md).
#ifndef TACET_LEDGER_LEDGER_FORMAT_H_
#define TACET_LEDGER_LEDGER_FORMAT_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/attempt.h"

namespace tacet::ledger {

// Charging rule of a ledger: the charged attempts and their rate. Fixed when it is made and never
// mixed:
//   announced-attempts  every attempt that was announced, the owner chosen or not, at the rate
//                       amplified by sampling (which already counts the chance of not being chosen)
//   own-seals           the attempts that the owner sealed an update for, without amplification
// Own attempts alone at the amplified rate would halve the truth: 2.24 where 4.53 is spent.
enum class ChargingRule : uint8_t { kAnnouncedAttempts = 1, kOwnSeals = 2 };

std::string_view ChargingRuleName(ChargingRule rule);

struct LedgerHeader {
  // The data that is spent, across all federations: a name its owner gives it, 1 to 255 printable
  // ASCII characters, and a keyed digest by which the site recognises it (data_digest.h).
  std::string data_set;
  crypto::Digest data_digest{};
  ChargingRule rule = ChargingRule::kAnnouncedAttempts;
  accounting::Unit unit = accounting::Unit::kClient;
  accounting::Neighbouring neighbouring = accounting::Neighbouring::kReplaceOne;
  accounting::SpendingTerms spending;  // budget, delta, composition
  uint64_t created = 0;                // Unix seconds

  friend bool operator==(const LedgerHeader&, const LedgerHeader&);
};

// InvalidArgument names the field that is out of range.
absl::Status CheckLedgerHeader(const LedgerHeader& header);

// Attempt of a charge; one label is charged once.
struct ChargeLabel {
  crypto::Digest manifest_hash{};
  secagg::AttemptNumber number;

  friend auto operator<=>(const ChargeLabel&, const ChargeLabel&) = default;
};

// Why an entry was made.
enum class ChargeKind : uint8_t {
  kSealing = 1,     // the attempt that was about to be sealed
  kCatchingUp = 2,  // an announced attempt that this ledger had not seen
};

struct LedgerEntry {
  crypto::Digest federation{};  // the agreement's digest: the same under new member keys
  ChargeLabel label;
  ChargeKind kind = ChargeKind::kSealing;
  accounting::SamplingEvent event;  // exactly as charged; noise 0 without a guarantee
  uint64_t count = 1;               // releases, >= 1
  uint64_t time = 0;                // Unix seconds

  friend bool operator==(const LedgerEntry&, const LedgerEntry&);
};

// InvalidArgument when a field is out of range, or the event is not of the header's unit and
// neighbours; FailedPrecondition when it is not charged the way the header's rule says.
absl::Status CheckLedgerEntry(const LedgerEntry& entry, const LedgerHeader& header);

// Anchor beside the ledger: the least number of charges it must have, and the hash of the last of
// them.
struct LedgerAnchor {
  crypto::Digest genesis{};  // hash of the header
  uint64_t count = 0;
  crypto::Digest head{};  // hash of record `count`; genesis when there is none

  friend bool operator==(const LedgerAnchor&, const LedgerAnchor&) = default;
};

inline constexpr size_t kLedgerRecordBytes = 168;
inline constexpr size_t kLedgerAnchorBytes = 110;

// The header with its own hash at the end; the hash is also the genesis of the chain.
base::Bytes WriteLedgerHeader(const LedgerHeader& header);
crypto::Digest LedgerGenesis(const LedgerHeader& header);
// kLedgerRecordBytes; the last 32 are SHA-256(previous ‖ the others), the new head.
base::Bytes WriteLedgerRecord(const LedgerEntry& entry, const crypto::Digest& previous);
crypto::Digest RecordHash(std::span<const uint8_t> record);
base::Bytes WriteLedgerAnchor(const LedgerAnchor& anchor);

// DataLoss says which field is cut short or wrong.
absl::StatusOr<LedgerAnchor> ReadLedgerAnchor(std::span<const uint8_t> bytes);

// A ledger as it was found.
struct RecoveredLedger {
  LedgerHeader header;
  std::vector<LedgerEntry> entries;
  LedgerAnchor end;          // what the anchor should say
  uint64_t anchored = 0;     // what it says
  uint64_t whole_bytes = 0;  // header and complete records
  uint64_t torn_bytes = 0;   // after them: an append that a crash cut short
};

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

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_FORMAT_H_
