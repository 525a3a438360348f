// Records of a ledger as one book, and what of them forbids a charge.
#ifndef TACET_LEDGER_LEDGER_BOOK_H_
#define TACET_LEDGER_LEDGER_BOOK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "tacet/crypto/hash.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/secagg/attempt.h"

namespace tacet::ledger {

// "round 3 attempt 0 of epoch 1", for messages.
std::string NameOf(const secagg::AttemptNumber& number);

class LedgerBook {
 public:
  explicit LedgerBook(LedgerHeader header) : header_(std::move(header)) {}

  const LedgerHeader& header() const { return header_; }
  const std::vector<LedgerEntry>& entries() const { return entries_; }
  const std::vector<LedgerRefusal>& refusals() const { return refusals_; }
  const std::optional<LedgerPolicy>& policy() const { return policy_; }

  bool Holds(const ChargeLabel& label) const { return by_label_.contains(label); }
  // Charged for an update of this owner.
  bool HoldsForSealing(const ChargeLabel& label) const;
  // Charged or refused.
  bool Knows(const ChargeLabel& label) const { return Holds(label) || refused_.contains(label); }
  // Releases charged for one training of a federation, under whichever manifests.
  uint64_t ChargesOf(const crypto::Digest& federation, uint32_t training) const;

  // FailedPrecondition for another member of the manifest, also for a rule, a unit, a composition,
  // an epoch or a manifest that the training's charges so far forbid.
  absl::Status CheckMember(const AttemptCost& cost) const;
  absl::Status CheckCharge(const AttemptCost& cost, const LedgerEntry& entry) const;
  // The known result of the attempt; nothing when it has to be charged.
  std::optional<absl::Status> Earlier(const LedgerEntry& entry) const;
  // Attempts that are to be charged before `now`, in order: those in `announced` that are missing,
  // and those that must have been there since the last one of the training.
  std::vector<secagg::AttemptNumber> MissingBefore(
      const AttemptCost& cost, const secagg::AttemptNumber& now,
      std::span<const secagg::AttemptNumber> announced) const;

  // DataLoss for a record that no ledger can hold; Add is to be called for others alone.
  absl::Status CheckRecord(const LedgerRecord& record) const;
  void Add(const LedgerRecord& record);

 private:
  // The charges in one epoch of a federation.
  struct KnownEpoch {
    crypto::Digest manifest_hash{};
    uint32_t member = kEveryMember;
    uint32_t last_round = 0;
    uint64_t charges = 0;
    std::optional<ChargingRule> rule;  // of the first charge; none: attempts were refused only
  };
  using KnownEpochs = std::map<uint32_t, KnownEpoch>;

  // Charges continue under the federation's last epoch or a later one, and under one manifest an
  // epoch.
  absl::Status CheckEpoch(const AttemptCost& cost, uint32_t epoch) const;
  // For a charge or a refusal.
  template <typename Record>
  KnownEpoch& See(const Record& record);
  // The epochs of a training that are known, in order: those from its first one on. None follows
  // it, since an epoch before the last one is not charged.
  KnownEpochs EpochsOf(const crypto::Digest& federation, uint32_t training) const;

  LedgerHeader header_;
  std::vector<LedgerEntry> entries_;
  std::vector<LedgerRefusal> refusals_;
  std::optional<LedgerPolicy> policy_;
  std::map<ChargeLabel, size_t> by_label_;  // index into entries_
  std::set<ChargeLabel> refused_;
  std::map<crypto::Digest, secagg::AttemptNumber> last_;  // of each manifest
  std::map<crypto::Digest, KnownEpochs> epochs_;          // by federation
};

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_BOOK_H_
