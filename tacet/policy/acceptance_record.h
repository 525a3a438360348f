// Record of the epochs that a site joined, who accepted them, and the members whose keys a person
// at the site has accepted (docs/formats/acceptances.md). The site's identity signs it.
#ifndef TACET_POLICY_ACCEPTANCE_RECORD_H_
#define TACET_POLICY_ACCEPTANCE_RECORD_H_

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/policy/change_kind.h"

namespace tacet::policy {

enum class AcceptedBy : uint8_t {
  kPerson = 1,
  kPolicy = 2,       // its number is `serial`
  kUnchanged = 3,    // nobody: the manifest was the same
  kCoordinator = 4,  // nobody: the site knew its coordinator alone, and no manifest before
};

struct AcceptedEpoch {
  crypto::Digest manifest{};
  uint32_t epoch = 0;
  uint64_t unix_seconds = 0;
  AcceptedBy by = AcceptedBy::kPerson;
  uint64_t serial = 0;  // of the policy in force; 0: none
  std::vector<ChangeKind> kinds = {};

  friend bool operator==(const AcceptedEpoch&, const AcceptedEpoch&) = default;
};

// Members of an epoch whose keys a person has accepted.
struct KnownKeys {
  crypto::Digest manifest{};
  std::set<crypto::PublicKey> keys = {};

  friend bool operator==(const KnownKeys&, const KnownKeys&) = default;
};

struct AcceptanceRecord {
  static constexpr size_t kMaxEpochs = 4096;  // older ones are left out

  // The largest number of a policy in force when the site joined an epoch; 0: none.
  uint64_t latest_policy = 0;
  std::vector<AcceptedEpoch> epochs = {};  // the last one last
  // For the epoch joined and for the next one: a join that was killed between record and invitation
  // leaves both.
  std::vector<KnownKeys> known = {};

  friend bool operator==(const AcceptanceRecord&, const AcceptanceRecord&) = default;

  // Empty where the record is not about the epoch: after a restored backup, for instance.
  std::set<crypto::PublicKey> KnownIn(const crypto::Digest& manifest) const;
};

// Those of `keys` that members have in each epoch of `chain` after `joined`; none where `joined` is
// not in it.
std::set<crypto::PublicKey> StayedMembers(std::set<crypto::PublicKey> keys,
                                          const crypto::Digest& joined,
                                          std::span<const agreement::EpochLink> chain);

// The record once the last epoch of `chain` has been accepted. A person accepts the keys of all its
// members. Without a person those stay known that were before (`joined`: the manifest until then,
// zeros: none). A member that has left is unknown when it comes back. An epoch that is joined again
// after its invitation was lost knows the same keys.
AcceptanceRecord AfterAccepting(AcceptanceRecord record, const crypto::Digest& joined,
                                std::span<const agreement::EpochLink> chain,
                                AcceptedEpoch accepted);

base::Bytes WriteAcceptanceRecord(const AcceptanceRecord& record, const crypto::SigningKey& site);
// DataLoss when it is cut short, altered or not signed by `site`.
absl::StatusOr<AcceptanceRecord> ReadAcceptanceRecord(std::span<const uint8_t> bytes,
                                                      const crypto::PublicKey& site);

}  // namespace tacet::policy

#endif  // TACET_POLICY_ACCEPTANCE_RECORD_H_
