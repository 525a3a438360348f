#include "tacet/coordinator/mailbox_steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tacet/agreement/key_renewal.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/coordinator/federation_steps.h"
#include "tacet/coordinator/server_steps.h"
#include "tacet/protocol/letter.h"

namespace tacet::coordinator {
namespace {

using agreement::SignedManifest;
using protocol::MailKind;
using storage::file::CoordinatorFolder;
using storage::file::EnrolledSite;

struct FoundPrekey {
  const EnrolledSite* site = nullptr;
  base::Bytes bytes;
  agreement::EnrolmentRequest asked;
};

// The site that a prekey's exchange key or KEM key belongs to, too, as far as the coordinator knows
// of it: a manifest with a key twice would be refused, and with it everybody's epoch.
std::optional<std::string> OtherOwner(const FoundPrekey& prekey,
                                      const std::vector<EnrolledSite>& sites,
                                      const std::vector<FoundPrekey>& found) {
  const agreement::ExchangePublicKeys& keys = prekey.asked.exchange_keys;
  const auto shares = [&keys](const agreement::ExchangePublicKeys& theirs) {
    return keys.exchange == theirs.exchange || keys.kem == theirs.kem;
  };
  for (const EnrolledSite& site : sites) {
    const agreement::EnrolmentRequest& known = site.request;
    if (known.server) continue;
    if (keys.exchange == known.signing_key || keys.exchange == known.sealing_key ||
        (known.name != prekey.asked.name && shares(known.exchange_keys))) {
      return known.name;
    }
  }
  for (const FoundPrekey& other : found) {
    if (other.site != prekey.site && shares(other.asked.exchange_keys)) return other.asked.name;
  }
  return std::nullopt;
}

// The sentence for which what came in the name of a site is refused; nothing where it may be
// enrolled, or is.
std::optional<std::string> RefusalOf(const FoundPrekey& prekey,
                                     const std::vector<EnrolledSite>& sites,
                                     const std::vector<FoundPrekey>& found) {
  const std::string& name = prekey.site->request.name;
  const std::optional<std::string> owner = OtherOwner(prekey, sites, found);
  if (!owner.has_value()) return std::nullopt;
  return fmt::format(
      "the prekey that {} sent has a key of {}: each key is of one owner and for one use. {} "
      "signed "
      "it",
      name, *owner == name ? "its identity" : *owner, name);
}

// For how long the certificate of a site was made.
absl::StatusOr<uint64_t> EnrolledDays(const EnrolledSite& site) {
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts,
                         crypto::ReadCertificate(site.certificate));
  const uint64_t seconds = facts.not_after - std::min(facts.not_after, facts.not_before);
  return std::max<uint64_t>(1, seconds / base::kSecondsADay);  // kClockSeconds are less than a day
}

// The sentence for which a prekey is refused; nothing where it was enrolled. Errors of the folder.
absl::StatusOr<std::optional<std::string>> EnrolPrekey(const FoundPrekey& prekey,
                                                       const crypto::TlsKey& authority,
                                                       CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint64_t days, EnrolledDays(*prekey.site));
  const absl::Status enrolled = EnrolParty(prekey.bytes, days, authority, folder);
  if (enrolled.ok()) return std::nullopt;
  if (enrolled.code() != absl::StatusCode::kFailedPrecondition) return enrolled;
  return base::Message(enrolled);
}

// The prekeys that the server gives for `sites`, without those that are enrolled already. Anything
// that is none goes to `refused`.
absl::StatusOr<std::vector<FoundPrekey>> FetchPrekeys(const std::vector<const EnrolledSite*>& sites,
                                                      const protocol::MailClient& mail,
                                                      std::vector<std::string>& refused) {
  std::vector<FoundPrekey> found;
  for (const EnrolledSite* const site : sites) {
    const std::string& name = site->request.name;
    absl::StatusOr<base::Bytes> bytes =
        mail.Fetch({.kind = MailKind::kPrekey, .site = site->request.signing_key});
    if (bytes.status().code() == absl::StatusCode::kNotFound) continue;
    TACET_RETURN_IF_ERROR(bytes.status());
    absl::StatusOr<agreement::EnrolmentRequest> asked = agreement::ReadEnrolmentRequest(*bytes);
    if (!asked.ok()) {
      refused.push_back(fmt::format("what the server gives as the prekey of {} is none: {}", name,
                                    base::Message(asked.status())));
    } else if (*asked == site->request) {
      continue;  // by a call before
    } else if (!agreement::RenewsExchangeKeys(site->request, *asked)) {
      refused.push_back(fmt::format(
          "what the server gives as the prekey of {} has other keys than {}", name, name));
    } else {
      found.push_back({.site = site, .bytes = *std::move(bytes), .asked = *std::move(asked)});
    }
  }
  return found;
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

absl::StatusOr<std::vector<base::Bytes>> ServerKeys(const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  std::vector<base::Bytes> keys;
  for (uint32_t number = epoch - std::min(epoch, 1U); number <= epoch; ++number) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, folder.SignedManifest(number));
    TACET_ASSIGN_OR_RETURN(const SignedManifest manifest, SignedManifest::Read(bytes));
    const agreement::ManifestServer& server = manifest.server();
    if (!server.name.empty()) keys.push_back(server.tls_key);
  }
  if (!keys.empty()) return keys;
  return base::FailedPrecondition(
      "the manifest of epoch {} names no server: enrol it (tacet federation enrol), and begin an "
      "epoch (tacet federation rotate)",
      epoch);
}

absl::StatusOr<TakenPrekeys> TakePrekeys(const std::set<std::string>& removed,
                                         const crypto::TlsKey& authority,
                                         const protocol::MailClient& mail,
                                         CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, folder.SignedManifest(epoch));
  TACET_ASSIGN_OR_RETURN(const SignedManifest present, SignedManifest::Read(bytes));
  TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites, folder.Enrolled());
  std::vector<const EnrolledSite*> asked;
  for (const EnrolledSite& site : sites) {
    // A newcomer has made its keys with its request.
    if (site.request.server || removed.contains(site.request.name) ||
        !present.MemberWith(site.request.signing_key).has_value()) {
      continue;
    }
    asked.push_back(&site);
  }
  TakenPrekeys result;
  TACET_ASSIGN_OR_RETURN(const std::vector<FoundPrekey> found,
                         FetchPrekeys(asked, mail, result.refused));
  for (const FoundPrekey& prekey : found) {
    std::optional<std::string> refusal = RefusalOf(prekey, sites, found);
    if (!refusal.has_value()) {
      TACET_ASSIGN_OR_RETURN(refusal, EnrolPrekey(prekey, authority, folder));
    }
    if (refusal.has_value()) result.refused.push_back(*std::move(refusal));
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
                                                 const CoordinatorFolder& folder,
                                                 const std::set<std::string>& joined) {
  TACET_ASSIGN_OR_RETURN(const std::optional<SignedManifest> before,
                         ManifestBefore(manifest, folder));
  LeftInvitations result;
  const uint64_t expires = base::SystemUnixSeconds() + protocol::kLetterSeconds;
  base::Bytes enclosure;
  const auto put_enclosure = [&] {
    return base::Annotate(mail.Put({.kind = MailKind::kEnclosure}, enclosure),
                          "the invitations' common part");
  };
  for (const agreement::ManifestMember& member : manifest.members()) {
    if (joined.contains(member.name)) continue;
    const bool is_new = before.has_value() && !before->MemberWith(member.signing_key).has_value();
    if (is_new) result.by_file.push_back(member.name);
    TACET_ASSIGN_OR_RETURN(const base::Bytes file,
                           storage::file::SavedInvitation(folder, manifest.epoch(), member.name));
    TACET_ASSIGN_OR_RETURN(const agreement::Invitation invitation, agreement::ReadInvitation(file));
    if (enclosure.empty()) {
      enclosure = protocol::SealEnclosure(invitation, manifest.manifest().hash(), epoch_key);
      TACET_RETURN_IF_ERROR(put_enclosure());
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
    const protocol::MailName name{.kind = MailKind::kLetter, .site = member.signing_key};
    absl::Status put = mail.Put(name, letter);
    if (put.code() == absl::StatusCode::kAborted) {
      // The sites before were fast: the enclosure went with the last of their letters.
      TACET_RETURN_IF_ERROR(put_enclosure());
      put = mail.Put(name, letter);
    }
    if (put.code() == absl::StatusCode::kNotFound) {
      if (!is_new) result.by_file.push_back(member.name);
      continue;
    }
    TACET_RETURN_IF_ERROR(put);
    result.left[member.name] = crypto::Sha256(letter);
  }
  return result;
}

absl::Status LeaveServerInvitation(const SignedManifest& manifest, const protocol::MailClient& mail,
                                   const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(
      const base::Bytes invitation,
      storage::file::SavedInvitation(folder, manifest.epoch(), manifest.server().name));
  return mail.Put({.kind = MailKind::kServer}, invitation);
}

absl::StatusOr<protocol::ServedEpoch> EpochOfServer(const protocol::MailClient& mail) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes served, mail.Fetch({.kind = MailKind::kServer}));
  return protocol::ReadServedEpoch(served);
}

absl::StatusOr<std::optional<protocol::LetterReply>> ReplyOf(
    const EnrolledSite& site, const SignedManifest& manifest,
    const std::map<std::string, crypto::Digest>& letters, const protocol::MailClient& mail,
    const CoordinatorFolder& folder) {
  const crypto::PublicKey& key = site.request.signing_key;
  const absl::StatusOr<base::Bytes> bytes = mail.Fetch({.kind = MailKind::kReply, .site = key});
  // There is none either of a site that the server does not know yet.
  if (bytes.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(bytes.status());
  absl::StatusOr<protocol::LetterReply> reply = protocol::ReadLetterReply(*bytes, key);
  if (!reply.ok() || reply->federation != manifest.manifest().federation() ||
      reply->epoch != manifest.epoch() || reply->manifest_hash != manifest.manifest().hash()) {
    return std::nullopt;  // to another letter, or the server's invention
  }
  const auto letter = letters.find(site.request.name);
  if (!reply->joined && (letter == letters.end() || reply->letter != letter->second)) {
    return std::nullopt;
  }
  TACET_ASSIGN_OR_RETURN(const base::Bytes file, storage::file::SavedInvitation(
                                                     folder, manifest.epoch(), site.request.name));
  TACET_ASSIGN_OR_RETURN(const agreement::Invitation invitation, agreement::ReadInvitation(file));
  if (reply->certificate != crypto::Sha256(invitation.certificate)) return std::nullopt;
  return std::optional(*std::move(reply));
}

}  // namespace tacet::coordinator
