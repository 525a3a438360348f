#include "tacet/site/site_mail.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "tacet/base/status.h"
#include "tacet/crypto/certificates.h"
#include "tacet/protocol/letter_reply.h"
#include "tacet/transport/https/https_wire.h"

namespace tacet::site {
namespace {

using protocol::MailKind;
using storage::file::Membership;

protocol::MailName OwnMail(const protocol::MailClient& mail, MailKind kind) {
  return {.kind = kind, .site = mail.sender()};
}

// An old letter of the joined epoch has a certificate that was issued earlier. When one ends says
// nothing: the coordinator may issue a shorter one, and none outlives the authority's.
bool IsIssuedLater(std::span<const uint8_t> certificate, std::span<const uint8_t> than) {
  const auto facts = crypto::ReadCertificate(certificate);
  const auto known = crypto::ReadCertificate(than);
  return facts.ok() && known.ok() &&
         std::pair(facts->not_before, facts->not_after) >
             std::pair(known->not_before, known->not_after);
}

}  // namespace

absl::StatusOr<std::unique_ptr<protocol::Wire>> ConnectToServer(const std::string& server,
                                                                const std::string& proxy,
                                                                const Membership& joined,
                                                                const agreement::MemberKeys& keys) {
  return transport::https::HttpsWire::Create({.server = server,
                                              .proxy = proxy,
                                              .server_keys = {joined.manifest.server().tls_key},
                                              .authority = joined.manifest.authority(),
                                              .certificate = joined.certificate},
                                             keys.tls);
}

std::string AddressOfServer(const agreement::ManifestServer& server, const std::string& given) {
  const size_t colon = given.rfind(':');
  if (colon == std::string::npos || server.hosts.empty()) return given;
  std::string_view host = std::string_view(given).substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (std::ranges::find(server.hosts, host) != server.hosts.end()) return given;
  const std::string& first = server.hosts.front();
  const bool is_ipv6 = first.find(':') != std::string::npos;
  return fmt::format("{}{}{}{}", is_ipv6 ? "[" : "", first, is_ipv6 ? "]" : "",
                     given.substr(colon));
}

absl::StatusOr<std::optional<FoundLetter>> LookForLetter(const protocol::MailClient& mail,
                                                         const Membership& joined) {
  const agreement::SignedManifest& manifest = joined.manifest;
  const absl::StatusOr<base::Bytes> bytes = mail.Fetch(OwnMail(mail, MailKind::kLetter));
  if (bytes.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(bytes.status());
  FoundLetter found{.letter = {}, .digest = crypto::Sha256(*bytes)};
  TACET_ASSIGN_OR_RETURN(found.letter, protocol::ReadLetter(*bytes, manifest.coordinator()));
  const protocol::Letter& letter = found.letter;
  if (letter.site != mail.sender() || letter.federation != manifest.manifest().federation()) {
    return base::PermissionDenied(
        "the server gives a letter that is for another site, or of another federation. Tell the "
        "coordinator");
  }
  found.is_news =
      letter.epoch > manifest.epoch() ||
      (letter.epoch == manifest.epoch() && (letter.manifest_hash != manifest.manifest().hash() ||
                                            IsIssuedLater(letter.certificate, joined.certificate)));
  return found;
}

absl::StatusOr<base::Bytes> FetchInvitation(const protocol::MailClient& mail,
                                            const FoundLetter& found, const Membership& joined,
                                            const agreement::MemberKeys& keys,
                                            const storage::file::ExchangeKeyFiles& exchange_keys,
                                            const crypto::Unlocker& unlocker) {
  TACET_ASSIGN_OR_RETURN(const std::vector<agreement::ExchangeKeys> own,
                         exchange_keys.All(unlocker));
  absl::StatusOr<crypto::SecretBytes> epoch_key = base::DataLoss(
      "the letter of epoch {} is not for an exchange key that this site holds: run `tacet client "
      "renew`, have the request enrolled, and join the next epoch",
      found.letter.epoch);
  for (const agreement::ExchangeKeys& key : own) {
    absl::StatusOr<crypto::SecretBytes> opened = agreement::OpenEpochKey(
        found.letter.epoch_key, joined.manifest.coordinator(), keys.sealing, key.kem);
    if (opened.status().code() == absl::StatusCode::kPermissionDenied) return opened.status();
    if (opened.ok()) epoch_key = std::move(opened);
  }
  TACET_RETURN_IF_ERROR(epoch_key.status());
  TACET_ASSIGN_OR_RETURN(const base::Bytes enclosure, mail.Fetch({.kind = MailKind::kEnclosure}));
  TACET_ASSIGN_OR_RETURN(const agreement::Invitation invitation,
                         protocol::OpenEnclosure(enclosure, found.letter, *epoch_key));
  return agreement::WriteInvitation(invitation);
}

absl::Status EndJoin(const protocol::MailClient& mail, const Membership& joined,
                     const crypto::Unlocker& unlocker, storage::file::SiteFolder& folder) {
  crypto::SystemEntropy entropy;
  {
    TACET_ASSIGN_OR_RETURN(const storage::file::NextRequest next, folder.Renew(unlocker, entropy));
    TACET_RETURN_IF_ERROR(LeavePrekey(mail, next));
  }
  TACET_ASSIGN_OR_RETURN(const std::optional<FoundLetter> found, LookForLetter(mail, joined));
  if (!found.has_value() || found->is_news) return absl::OkStatus();
  return EndLetter(mail, joined, found->digest);
}

absl::Status ReplyToLetter(const protocol::MailClient& mail, const Membership& about,
                           const crypto::Digest& letter, bool is_joined,
                           std::vector<std::string> fields) {
  const agreement::SignedManifest& manifest = about.manifest;
  return mail.Put(OwnMail(mail, MailKind::kReply),
                  protocol::WriteLetterReply({.federation = manifest.manifest().federation(),
                                              .epoch = manifest.epoch(),
                                              .manifest_hash = manifest.manifest().hash(),
                                              .certificate = crypto::Sha256(about.certificate),
                                              .letter = letter,
                                              .joined = is_joined,
                                              .fields = std::move(fields)},
                                             mail.key()));
}

absl::Status EndLetter(const protocol::MailClient& mail, const Membership& joined,
                       const crypto::Digest& letter) {
  TACET_RETURN_IF_ERROR(ReplyToLetter(mail, joined, letter, true));
  return mail.Drop(OwnMail(mail, MailKind::kLetter), letter);
}

absl::Status LeavePrekey(const protocol::MailClient& mail, const storage::file::NextRequest& next) {
  return mail.Put(OwnMail(mail, MailKind::kPrekey), next.request);
}

absl::Status LeaveUnusedPrekey(const protocol::MailClient& mail,
                               const storage::file::SiteFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const std::optional<storage::file::NextRequest> next,
                         storage::file::UnusedRequest(folder));
  return next.has_value() ? LeavePrekey(mail, *next) : absl::OkStatus();
}

}  // namespace tacet::site
