#include "tacet/site/epoch_follower.h"

#include <utility>
#include <vector>

#include "fmt/core.h"

#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/random.h"
#include "tacet/policy/change_kind.h"
#include "tacet/site/invitation_acceptance.h"
#include "tacet/site/site_policy.h"
#include "tacet/storage/file/exchange_key_files.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::site {
namespace {

using storage::file::Membership;
using storage::file::SiteFolder;

}  // namespace

crypto::Digest EpochFollower::PolicyNow() const {
  const std::filesystem::path path = PolicyPath(spec_.home, spec_.policy);
  crypto::Sha256Hasher hasher;
  for (const std::filesystem::path& file : {path, SignaturePath(path)}) {
    const absl::StatusOr<base::Bytes> bytes = storage::file::ReadFile(file);
    hasher.Update(
        crypto::Sha256(bytes.ok() ? std::span<const uint8_t>(*bytes) : std::span<const uint8_t>()));
  }
  return hasher.Finish();
}

absl::StatusOr<EpochFollower::Looked> EpochFollower::Look(const protocol::MailClient& mail) {
  TACET_ASSIGN_OR_RETURN(SiteFolder folder, Told(SiteFolder::Open(spec_.home), "follow"));
  TACET_ASSIGN_OR_RETURN(const Membership joined, Told(folder.Joined(), "follow"));
  TACET_RETURN_IF_ERROR(Told(NotePolicyInForce(spec_.home, spec_.policy, spec_.keys),
                             "keep the number of the policy in force"));
  const absl::StatusOr<std::optional<FoundLetter>> found = LookForLetter(mail, joined);
  TACET_RETURN_IF_ERROR(found.status());
  if (found->has_value() && (*found)->is_news) return LookAtLetter(mail, **found, joined, folder);
  // A letter that says nothing new: a person has joined, or a process that was killed before it
  // could say so.
  if (!left_keys_ || found->has_value()) TACET_RETURN_IF_ERROR(LeaveKeys(mail, joined, folder));
  return Looked();
}

absl::Status EpochFollower::LeaveKeys(const protocol::MailClient& mail, const Membership& joined,
                                      SiteFolder& folder) {
  crypto::SystemEntropy entropy;
  TACET_RETURN_IF_ERROR(
      Told(folder.Renew(spec_.unlocker, entropy).status(), "make the keys of the next epoch"));
  TACET_RETURN_IF_ERROR(EndJoin(mail, joined, spec_.unlocker, folder));
  left_keys_ = true;
  told_.clear();
  return absl::OkStatus();
}

void EpochFollower::Tell(const absl::Status& failure, std::string_view what) {
  // The other failures are warnings of the caller.
  if (!protocol::IsRetryable(failure)) return;
  std::string text = fmt::format("cannot {}, and tries again: {}", what, base::Message(failure));
  if (text == told_) return;
  Note(text);
  told_ = std::move(text);
}

absl::StatusOr<EpochFollower::Looked> EpochFollower::LookAtLetter(const protocol::MailClient& mail,
                                                                  const FoundLetter& found,
                                                                  const Membership& joined,
                                                                  SiteFolder& folder) {
  const Asked question{.letter = found.digest, .policy = PolicyNow()};
  if (asked_ == question) return Looked{.waiting = found.letter.epoch};
  const crypto::PublicKey& coordinator = joined.manifest.coordinator();
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes invitation,
      FetchInvitation(mail, found, joined, spec_.keys, storage::file::ExchangeKeyFiles(spec_.home),
                      spec_.unlocker));
  TACET_ASSIGN_OR_RETURN(const Membership next,
                         folder.CheckInvitation(invitation, coordinator, spec_.unlocker));
  policy::AcceptedEpoch accepted{.unix_seconds = base::SystemUnixSeconds(),
                                 .by = policy::AcceptedBy::kUnchanged};
  if (next.manifest.manifest().hash() != joined.manifest.manifest().hash()) {
    const InvitationDecision decision = DecideInvitation({.home = spec_.home,
                                                          .policy = spec_.policy,
                                                          .keys = spec_.keys,
                                                          .joined = joined,
                                                          .next = next});
    if (!decision.acceptance.accepted()) {
      std::vector<std::string> fields;
      for (const policy::Violation& objection : decision.acceptance.objections) {
        fields.push_back(objection.key);
      }
      Note(fmt::format("the policy does not accept epoch {} without a person:\n{}",
                       next.manifest.epoch(), ObjectionsText(decision.acceptance)));
      TACET_RETURN_IF_ERROR(ReplyToLetter(mail, next, found.digest, false, std::move(fields)));
      asked_ = question;
      return Looked{.waiting = next.manifest.epoch()};
    }
    accepted.by = policy::AcceptedBy::kPolicy;
    accepted.serial = decision.serial;
    accepted.kinds = decision.acceptance.kinds;
  }
  const std::string kinds = accepted.kinds.empty()
                                ? "the certificate is renewed"
                                : fmt::format("by the policy, number {}: {}", accepted.serial,
                                              policy::ChangeKindNames(accepted.kinds));
  left_keys_ = false;
  TACET_ASSIGN_OR_RETURN(const Membership now,
                         Told(JoinAccepted(folder, {.home = spec_.home,
                                                    .joined = joined.manifest.manifest().hash(),
                                                    .invitation = invitation,
                                                    .next = next,
                                                    .coordinator = coordinator,
                                                    .unlocker = spec_.unlocker,
                                                    .policy = spec_.policy,
                                                    .accepted = std::move(accepted)}),
                              fmt::format("join epoch {}", next.manifest.epoch())));
  Note(fmt::format("joined epoch {} {}", now.manifest.epoch(), kinds));
  // Another look finishes a step that fails here.
  TACET_RETURN_IF_ERROR(LeaveKeys(mail, now, folder));
  return Looked();
}

}  // namespace tacet::site
