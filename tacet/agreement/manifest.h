// Manifest: the terms and members of a federation in one epoch. Every message carries its hash.
#ifndef TACET_AGREEMENT_MANIFEST_H_
#define TACET_AGREEMENT_MANIFEST_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/federation_privacy.h"
#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/accounting/privacy_target.h"
#include "tacet/accounting/sampling_params.h"
#include "tacet/agreement/cohort.h"
#include "tacet/agreement/server_optimizer.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/signing.h"
#include "tacet/dp/mechanism_params.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/terms.h"

namespace tacet::agreement {

// Public keys by which a member is known in one epoch.
struct MemberIdentity {
  crypto::PublicKey signing_key{};           // of its messages, votes and attestations
  crypto::ExchangePublicKey exchange_key{};  // from which pair keys follow (pair_masks.h)

  friend bool operator==(const MemberIdentity&, const MemberIdentity&) = default;
};

// InvalidArgument when a key belongs to no secret, or two keys of the members are equal. With a
// member's exchange key of small order every other member's round would fail. A holder of two
// identities by one key would be counted as two members, and could take two seats of the committee.
absl::Status CheckMemberKeys(std::span<const MemberIdentity> members);

// Name of the model in an agreement about a query: the vector of its answers (tacet/statistics).
inline constexpr std::string_view kQueryModel = "query";

struct ManifestSpec {
  // Identity of the federation: random bytes, made once. Stores, checkpoints and ledger entries
  // name it, so all of them continue under manifests with other members or terms. Zeros: a
  // simulation, or an agreement of the library, whose identity is the digest of its agreement.
  crypto::Digest federation{};
  // Which of the federation's trainings (or queries) this is, one after the other under one
  // enrolment: the number of the epoch with which it began, 0 for the first. State and charges of
  // one training are never those of another. 0 where `federation` is zeros.
  uint32_t training = 0;
  // Digest of what else belongs to the epoch (EpochDigest in signed_manifest.h): its number,
  // predecessor, server and authority, and the members' names. Zeros: there are no epochs.
  crypto::Digest epoch{};
  // Model
  std::string model = {};          // its name, or kQueryModel
  uint64_t dimension = 0;          // d
  crypto::Digest initial_model{};  // InitialModel::Digest of the common start, all parameters
  // Where a part of the model is federated: its layers, and how many parameters the whole has; the
  // others stay as they were at the start. Empty and 0: the model is what is federated.
  std::string federated_part = {};
  uint64_t whole_dimension = 0;
  // Rounds
  uint32_t rounds = 0;           // T
  uint32_t spare_attempts = 10;  // charged attempts never pass rounds + spare_attempts
  // Committee that votes for every sum and gives unmask shares, for the whole epoch. 0 seats: as
  // DefaultCommittee says. Empty `committee_members`: the first members.
  he::CommitteeShape committee = {};
  std::vector<uint64_t> committee_members = {};  // by seat
  // Participants, mechanism and guarantee. With unit record or person every site is in every round
  // (K = M). Where uploads are encrypted, at least two members outside a coalition are in every
  // sum: K_min >= c + 2. Exactly one of mechanism.noise_stddev and privacy.target_epsilon is given.
  accounting::SamplingParams sampling = {};
  dp::MechanismParams mechanism = {};
  accounting::PrivacyTarget privacy = {};
  // Encryption
  // Updates are added in the clear: in simulations only, which label it. Not part of the bytes, so
  // that the same seed gives the same noise.
  bool without_encryption = false;
  he::Scheme scheme = he::Scheme::kCompact;
  uint32_t plaintext_bits = 0;  // w; 0: the fewest that hold the sums
  // Server optimiser
  ServerOptimizerSpec optimizer = {};  // its `rounds` is set from above
  // Digest of a text with what else is agreed: how members train and meet. Zeros: no such text.
  crypto::Digest annex{};
  // Members, by number; their order is part of the agreement
  std::vector<MemberIdentity> members = {};
};

// Committee for `clients` members of which `colluders` may pool what they know: all of them up to
// 7, else 7 or as many as tolerate the colluders, at most 20. f is a third of the others, at least
// 1 for 4 members and more, and at least the number of colluders where seats allow.
he::CommitteeShape DefaultCommittee(uint64_t clients, uint64_t colluders);
// f of a committee of `seats` >= 1, by the same rule.
uint32_t DefaultCorruptSeats(uint32_t seats, uint64_t colluders);

// Epsilon above which nobody is protected: e^50 = 5e21.
inline constexpr double kMaxUsefulEpsilon = 50;

// Whether the server decides who takes part in a round: K < M with fixed-size cohorts. The rows of
// fixed-size sampling assume that it draws them honestly.
bool ServerDrawsCohorts(const ManifestSpec& spec);
// Whether every member uploads in every attempt, with its data or with zeros.
bool EveryMemberUploads(const ManifestSpec& spec);

// Range of the number of uploads of an attempt that closes: Poisson cohorts as in
// ExpectedCohortRange; all members where those not chosen upload too.
CohortRange UploadRange(const ManifestSpec& spec);
// Average number of uploads when nobody drops out: K, or M with dummy uploads.
uint32_t ExpectedUploads(const ManifestSpec& spec);

// One attempt in the form in which it is charged to a ledger of announced attempts and to the
// budget: it reveals at least as much as the attempt does to any observer that has a guarantee
// (accounting::WorstRound), since after few attempts another one is the worst than after many.
// Where the server draws cohorts one of them knows the cohorts, for whom nothing is sampled
// (fixed-size sampling at rate 1), and one knows its own share of the noise. Noise 0 where there is
// no guarantee.
accounting::SamplingEvent ChargedEvent(const ManifestSpec& spec);

// Input of the accountants for `attempts` attempts.
accounting::FederationPrivacySpec PrivacyOf(const ManifestSpec& spec, uint64_t attempts);

// The checked agreement, with the plan that follows from it. Immutable.
class Manifest {
 public:
  // InvalidArgument names the value that is wrong and its range: a cohort larger than the
  // federation, a K_min above K or below c + 2, sigma = 0 without `without_noise`, a budget that
  // does not reach for one attempt, ... NotFound when no noise reaches `target_epsilon`. The
  // mechanism's implementation terms are held against max_epsilon(); noise that leaves every
  // observer an epsilon above kMaxUsefulEpsilon, or above what these terms allow, is refused as too
  // little.
  static absl::StatusOr<Manifest> Create(ManifestSpec spec);
  // The same agreement without its members' keys, for a process that helps a member with its work
  // and opens nothing: spec.members is empty. Its hash() is nobody's; agreement() and terms() are
  // those of the whole manifest.
  static absl::StatusOr<Manifest> CreateWithoutMembers(ManifestSpec spec);

  const ManifestSpec& spec() const { return spec_; }
  const secagg::Terms& terms() const { return *terms_; }
  // The most attempts that may ever be charged: T + spare_attempts.
  uint64_t attempt_budget() const { return uint64_t{spec_.rounds} + spec_.spare_attempts; }
  // accounting::LargestCarriedEpsilon of the agreement's whole attempt budget; 0 when nothing is
  // guaranteed.
  double max_epsilon() const { return max_epsilon_; }
  // SHA-256 of the canonical bytes (docs/formats/manifest.md).
  const crypto::Digest& hash() const { return hash_; }
  // The same without epoch and members' keys: what stays equal when members make new keys.
  const crypto::Digest& agreement() const { return agreement_; }
  // Identity under which attempts are charged and state is kept: spec().federation, or agreement()
  // where that is zeros.
  const crypto::Digest& federation() const { return federation_; }

  // With the members' keys. Empty for the paper's schemes, and without members.
  const secagg::Committee& committee() const { return committee_; }

 private:
  // With whatever members there are.
  static absl::StatusOr<Manifest> CreateChecked(ManifestSpec spec);
  Manifest(ManifestSpec spec, std::shared_ptr<const secagg::Terms> terms, double max_epsilon);

  ManifestSpec spec_;
  std::shared_ptr<const secagg::Terms> terms_;
  double max_epsilon_;
  crypto::Digest agreement_{};
  crypto::Digest federation_{};
  crypto::Digest hash_{};
  secagg::Committee committee_;
};

// Guarantees after `attempts` >= 1 attempts, with the implementation terms of the agreement's own
// plan. Of attempts under one agreement; charged_terms.h has those of a training under several.
absl::StatusOr<accounting::Guarantees> GuaranteesOf(
    const Manifest& manifest, uint64_t attempts,
    accounting::Extent extent = accounting::Extent::kAllRows);

// Epsilon of their headline, the figure that is told while a run continues: 0 before the first
// attempt, infinite without a guarantee.
absl::StatusOr<double> ChargedEpsilon(const Manifest& manifest, uint64_t attempts);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_MANIFEST_H_
