// Ledger format: a header that names the population and fixes the counting rules, then records,
// each chained to the one before by its hash. This file has bytes and rules only; a LedgerStore
// keeps them (docs/formats/ledger.md).
#ifndef TACET_LEDGER_LEDGER_FORMAT_H_
#define TACET_LEDGER_LEDGER_FORMAT_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/attempt.h"

namespace tacet::ledger {

// Charging rule of a training: the charged attempts and their rate. Fixed by its first charge in a
// ledger and never mixed:
//   announced-attempts  every attempt that was announced, the owner chosen or not, at the rate
//                       amplified by sampling (which already counts the chance of not being chosen)
//   own-seals           the attempts that the owner sealed an update for, without amplification by
//                       the draw of cohorts
// Own attempts alone at the amplified rate would halve the truth: 2.24 where 4.53 is spent.
enum class ChargingRule : uint8_t { kAnnouncedAttempts = 1, kOwnSeals = 2 };

std::string_view ChargingRuleName(ChargingRule rule);
absl::StatusOr<ChargingRule> ParseChargingRule(std::string_view name);

inline constexpr size_t kMaxNameBytes = 255;

// The population of a ledger folder. The signed policy of a site's officer may name others.
inline constexpr std::string_view kMainPopulation = "main";

struct LedgerHeader {
  // The people whose data are spent, by all federations and from whatever tables: 1 to
  // kMaxNameBytes printable ASCII characters. A simulation's ledger has the name of its data.
  std::string population;
  // Tells this ledger from any other one: 32 random bytes, or the federation of a ledger that
  // counts one training alone.
  crypto::Digest identity{};
  // The unit and the neighbours that the ledger's epsilon is about. Charges of federations that
  // protect others are counted as these see them (attempt_cost.h).
  accounting::Unit unit = accounting::Unit::kClient;
  accounting::Neighbouring neighbouring = accounting::Neighbouring::kReplaceOne;
  accounting::SpendingTerms spending;  // budget, delta, composition
  uint64_t created = 0;                // Unix seconds

  friend bool operator==(const LedgerHeader&, const LedgerHeader&);
};

// InvalidArgument for the name of a population that is not 1 to 64 lower-case letters, digits and
// hyphens: it is part of a file's name.
absl::Status CheckPopulation(std::string_view name);

// InvalidArgument names the field that is out of range.
absl::Status CheckLedgerHeader(const LedgerHeader& header);

// In place of a member's number: the ledger stands for all members of a simulation.
inline constexpr uint32_t kEveryMember = 0xFFFFFFFF;

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

// Charge of one attempt.
struct LedgerEntry {
  crypto::Digest federation{};  // Manifest::federation(): the same in all epochs
  ChargeLabel label;
  uint32_t member = kEveryMember;  // whose data are charged: its number in the manifest
  ChargeKind kind = ChargeKind::kSealing;
  ChargingRule rule = ChargingRule::kAnnouncedAttempts;
  accounting::SamplingEvent event;  // exactly as charged; noise 0 without a guarantee
  uint64_t count = 1;               // releases, >= 1
  uint64_t time = 0;                // Unix seconds

  friend bool operator==(const LedgerEntry&, const LedgerEntry&);
};

// Attempt that a budget refused: nothing was or will be sealed for it, so it costs nothing.
struct LedgerRefusal {
  crypto::Digest federation{};
  ChargeLabel label;
  uint32_t member = kEveryMember;
  uint64_t time = 0;

  friend bool operator==(const LedgerRefusal&, const LedgerRefusal&) = default;
};

// Whether a charge or a refusal is of a federation's training (ManifestSpec::training): no other
// training is charged after it has begun, so under whichever epoch from that one on.
template <typename Record>
bool IsOfTraining(const Record& record, const crypto::Digest& federation, uint32_t training) {
  return record.federation == federation && record.label.number.epoch >= training;
}

// Site policy under which charges are made from here on.
struct LedgerPolicy {
  crypto::Digest digest{};  // SHA-256 of the policy file
  uint64_t serial = 0;      // never falls
  uint64_t time = 0;

  friend bool operator==(const LedgerPolicy&, const LedgerPolicy&) = default;
};

using LedgerRecord = std::variant<LedgerEntry, LedgerRefusal, LedgerPolicy>;

uint64_t TimeOf(const LedgerRecord& record);

// InvalidArgument when a field is out of range, or the event is not of the header's unit and
// neighbours; FailedPrecondition when it is not charged the way its rule says.
absl::Status CheckLedgerEntry(const LedgerEntry& entry, const LedgerHeader& header);

// Sizes divide a page of memory, so that no record lies across two.
inline constexpr size_t kLedgerHeaderBytes = 512;
inline constexpr size_t kLedgerRecordBytes = 256;

// kLedgerHeaderBytes; the last 32 are the hash of the others, which is also the genesis of the
// chain.
base::Bytes WriteLedgerHeader(const LedgerHeader& header);
crypto::Digest LedgerGenesis(const LedgerHeader& header);
// DataLoss says which field is wrong.
absl::StatusOr<LedgerHeader> ReadLedgerHeader(std::span<const uint8_t> bytes);

// kLedgerRecordBytes; the last 32 are SHA-256(previous ‖ the others), the new head.
base::Bytes WriteLedgerRecord(const LedgerRecord& record, const crypto::Digest& previous);
crypto::Digest RecordHash(std::span<const uint8_t> record);
// DataLoss when the hash does not continue `previous`.
absl::Status CheckRecordHash(std::span<const uint8_t> record, const crypto::Digest& previous);
// The fields, whatever the hash. Errors of CheckLedgerEntry; DataLoss for what is not canonical.
absl::StatusOr<LedgerRecord> ReadLedgerRecord(std::span<const uint8_t> record,
                                              const LedgerHeader& header);

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_FORMAT_H_
