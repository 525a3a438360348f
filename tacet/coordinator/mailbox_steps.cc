#include "tacet/coordinator/mailbox_steps.h"

#include <optional>
#include <utility>

#include "tacet/agreement/key_renewal.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/coordinator/federation_steps.h"
#include "tacet/protocol/letter.h"

namespace tacet::coordinator {
namespace {

using agreement::SignedManifest;
using protocol::MailKind;
using storage::file::CoordinatorFolder;
using storage::file::EnrolledSite;

// The sentence for which a prekey is refused; nothing where it was enrolled. Errors of the folder.
absl::StatusOr<std::optional<std::string>> EnrolPrekey(const EnrolledSite& site,
                                                       std::span<const uint8_t> prekey,
                                                       uint64_t days,
                                                       const crypto::TlsKey& authority,
                                                       CoordinatorFolder& folder) {
  const std::string& name = site.request.name;
  const absl::StatusOr<agreement::EnrolmentRequest> asked = agreement::ReadEnrolmentRequest(prekey);
  if (!asked.ok()) {
    return fmt::format("what the server gives as the prekey of {} is none: {}", name,
                       base::Message(asked.status()));
  }
  if (*asked == site.request) return std::nullopt;  // by a call before
  if (!agreement::RenewsExchangeKeys(site.request, *asked)) {
    return fmt::format("what the server gives as the prekey of {} has other keys than {}", name,
                       name);
  }
  const absl::Status enrolled = EnrolParty(prekey, days, authority, folder);
  if (enrolled.ok()) return std::nullopt;
  if (enrolled.code() != absl::StatusCode::kFailedPrecondition) return enrolled;
  return base::Message(enrolled);
}

}  // namespace

absl::StatusOr<base::Bytes> IssueOwnCertificate(const crypto::TlsKey& key,
                                                const crypto::TlsKey& authority,
                                                const CoordinatorFolder& folder) {
  const uint64_t now = base::SystemUnixSeconds();
  return crypto::IssueCertificate({.common_name = std::string(protocol::kCoordinatorName),
                                   .role = crypto::CertificateRole::kClient,
                                   .public_key = key.public_key(),
                                   .hosts = {},
                                   .not_before = now - kClockSeconds,
                                   .not_after = now + base::kSecondsADay},
                                  authority, folder.parts().authority);
}

absl::StatusOr<TakenPrekeys> TakePrekeys(const std::set<std::string>& removed, uint64_t days,
                                         const crypto::TlsKey& authority,
                                         const protocol::MailClient& mail,
                                         CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, folder.SignedManifest(epoch));
  TACET_ASSIGN_OR_RETURN(const SignedManifest present, SignedManifest::Read(bytes));
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites, folder.Enrolled());
  TakenPrekeys result;
  for (const EnrolledSite& site : sites) {
    const std::string& name = site.request.name;
    // A newcomer has made its keys with its request.
    if (site.request.server || removed.contains(name) ||
        !present.MemberWith(site.request.signing_key).has_value()) {
      continue;
    }
    const absl::StatusOr<base::Bytes> prekey =
        mail.Fetch({.kind = MailKind::kPrekey, .site = site.request.signing_key});
    if (prekey.ok()) {
      TACET_ASSIGN_OR_RETURN(std::optional<std::string> refusal,
                             EnrolPrekey(site, *prekey, days, authority, folder));
      if (refusal.has_value()) result.refused.push_back(*std::move(refusal));
    } else if (prekey.status().code() != absl::StatusCode::kNotFound) {
      return prekey.status();
    }
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> now, folder.Enrolled());
  for (const EnrolledSite& site : now) {
    const auto member = present.MemberWith(site.request.signing_key);
    if (!member.has_value() || removed.contains(site.request.name)) continue;
    const bool is_renewed =
        site.request.exchange_keys.exchange != present.members()[*member].exchange_key;
    (is_renewed ? result.taken : result.run_out).push_back(site.request.name);
  }
  return result;
}

absl::StatusOr<LeftInvitations> LeaveInvitations(const SignedManifest& manifest,
                                                 const crypto::SecretBytes& epoch_key,
                                                 const crypto::SigningKey& coordinator,
                                                 const protocol::MailClient& mail,
                                                 const CoordinatorFolder& folder) {
  LeftInvitations result;
  const uint64_t expires = base::SystemUnixSeconds() + kLetterDays * base::kSecondsADay;
  base::Bytes enclosure;
  for (const agreement::ManifestMember& member : manifest.members()) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes file,
                           storage::file::SavedInvitation(folder, manifest.epoch(), member.name));
    TACET_ASSIGN_OR_RETURN(const agreement::Invitation invitation, agreement::ReadInvitation(file));
    if (enclosure.empty()) {
      enclosure = protocol::SealEnclosure(invitation, manifest.manifest().hash(), epoch_key);
      const absl::Status put = mail.Put({.kind = MailKind::kEnclosure}, enclosure);
      if (!put.ok()) return base::Annotate(put, "the invitations' common part");
    }
    const base::Bytes letter =
        protocol::WriteLetter({.federation = manifest.manifest().federation(),
                               .site = member.signing_key,
                               .epoch = manifest.epoch(),
                               .manifest_hash = manifest.manifest().hash(),
                               .expires = expires,
                               .certificate = invitation.certificate,
                               .epoch_key = invitation.epoch_key,
                               .enclosure_bytes = enclosure.size(),
                               .enclosure = crypto::Sha256(enclosure)},
                              coordinator);
    const absl::Status put =
        mail.Put({.kind = MailKind::kLetter, .site = member.signing_key}, letter);
    if (put.code() == absl::StatusCode::kNotFound) {
      result.by_file.push_back(member.name);
      continue;
    }
    TACET_RETURN_IF_ERROR(put);
    result.left.push_back(member.name);
  }
  return result;
}

}  // namespace tacet::coordinator
