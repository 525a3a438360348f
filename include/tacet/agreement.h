// Agreement of a federation: the options, the members and the committee, checked together.
#ifndef TACET_AGREEMENT_H_
#define TACET_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/federation_options.h"
#include "tacet/guarantee.h"
#include "tacet/keys.h"
#include "tacet/types.h"

namespace tacet {

namespace api {
struct Access;
struct CheckedAgreement;
}  // namespace api

struct AgreementOptions {
  // `federation.clients` may be left out here: it is the number of `members`.
  FederationOptions federation = {};

  // d >= 1: number of values of an update.
  uint64_t dimension = 0;

  // Public keys of all members. A member's number is its place in this list.
  std::vector<MemberPublicKey> members = {};

  // Numbers of the members on the committee, by seat.
  //
  // Default: empty, the first members
  std::vector<uint64_t> committee = {};

  // Number of the epoch: the period in which members and keys stay the same. New members or new
  // keys need a new epoch key and the next number.
  //
  // Default: 0
  uint32_t epoch = 0;

  // Failed attempts that are permitted in all rounds together. Each attempt is charged, failed or
  // not. A larger number tolerates more failures and makes the mechanism's plan allow for them.
  //
  // Default: 10
  uint32_t spare_attempts = 10;

  // Whatever else the members agree on, for example the architecture and the learning rate. The
  // library only binds it into the digest.
  std::string context = {};
};

// Checked and immutable. Copying is cheap; copies may be used by any thread.
class Agreement {
 public:
  // InvalidArgument names the value that is wrong, its range and the remedy: options out of range,
  // K_min below colluders + 2, noise too small to protect anybody, a sum that would not be exact, a
  // committee that is too small. Takes up to a second.
  static absl::StatusOr<Agreement> Create(const AgreementOptions& options);

  // Options with every default filled in.
  const AgreementOptions& options() const;

  // SHA-256 over all of it. Members compare it before the first round: equal digests mean equal
  // options, keys and committee. Every message carries it.
  const Digest& digest() const;

  // Fewest and most uploads of an aggregate: K_min, and the largest cohort.
  uint32_t min_participants() const;
  uint32_t max_participants() const;
  // Votes for one closed round before a committee member unmasks it.
  uint32_t votes_needed() const;
  // Attempts that are permitted in all: T + spare_attempts.
  uint64_t attempt_budget() const;

  // Length of every upload, and of the largest closed round, in bytes.
  size_t upload_bytes() const;
  size_t max_closed_round_bytes() const;

  // Whether `packet` is a usable Client::key_packet() of `member` under this agreement. It takes no
  // key: the server asks before it keeps a packet, and takes no upload of a member without one. No
  // seat votes for a sum with such an upload. DataLoss for a damaged packet; PermissionDenied for
  // one of another member, agreement or epoch, or that the member did not sign; InvalidArgument
  // when there is no such member.
  absl::Status CheckKeyPacket(uint64_t member, std::span<const uint8_t> packet) const;

  // Standard deviation of the noise in one value of the sum of `participants` >= 1 uploads, with
  // the quantisation's part, in units of the update.
  double sum_stddev(uint32_t participants) const;

  // Guarantee after `attempts` attempts in which something was sealed, 1 to attempt_budget(), with
  // the additions of finite arithmetic under this agreement's mechanism. A training that may be
  // stopped after a look at its models has that of attempt_budget() attempts. Fewer are a forecast.
  absl::StatusOr<Guarantee> GuaranteeAfter(uint64_t attempts) const;

 private:
  friend struct api::Access;
  explicit Agreement(std::shared_ptr<const api::CheckedAgreement> parts);

  std::shared_ptr<const api::CheckedAgreement> parts_;
};

}  // namespace tacet

#endif  // TACET_AGREEMENT_H_
