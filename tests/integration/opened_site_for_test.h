// Content of the folder of a site, or of the server, once its keys are unlocked.
#ifndef TACET_TESTS_INTEGRATION_OPENED_SITE_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_OPENED_SITE_FOR_TEST_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/status.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/storage/file/secret_file.h"
#include "tacet/storage/file/site_folder.h"
#include "tacet/transport/https/https_wire.h"

namespace tacet::app {

struct OpenedSite {
  storage::file::Membership joined;
  agreement::MemberKeys keys;
  crypto::SecretBytes epoch_key;                    // empty for the server
  std::optional<agreement::ExchangeKeys> exchange;  // none for the server
};

// `home` joined; `key_file` locks its keys.
inline absl::StatusOr<OpenedSite> OpenSite(const std::filesystem::path& home,
                                           const std::filesystem::path& key_file) {
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes content, storage::file::ReadSecretFile(key_file));
  TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker,
                         crypto::Unlocker::FromKeyFile(std::move(content)));
  TACET_ASSIGN_OR_RETURN(auto folder, storage::file::SiteFolder::Open(home));
  TACET_ASSIGN_OR_RETURN(agreement::MemberKeys keys, folder.UnlockKeys(unlocker));
  TACET_ASSIGN_OR_RETURN(storage::file::Membership joined, folder.Joined());
  crypto::SecretBytes epoch_key;
  std::optional<agreement::ExchangeKeys> exchange;
  if (joined.member.has_value()) {
    TACET_ASSIGN_OR_RETURN(exchange, folder.TakeUpExchangeKeys(joined, unlocker));
    TACET_ASSIGN_OR_RETURN(epoch_key,
                           agreement::DecryptEpochKey(joined.sealed_epoch_key, joined.manifest,
                                                      *joined.member, keys.sealing, exchange->kem));
  }
  return OpenedSite{.joined = std::move(joined),
                    .keys = std::move(keys),
                    .epoch_key = std::move(epoch_key),
                    .exchange = std::move(exchange)};
}

// The wire that connects it to the server at HOST:PORT. Errors of HttpsWire::Create.
inline absl::StatusOr<std::unique_ptr<transport::https::HttpsWire>> WireOf(const OpenedSite& site,
                                                                           std::string server) {
  return transport::https::HttpsWire::Create(
      {.server = std::move(server),
       .proxy = {},
       .server_keys = {site.joined.manifest.server().tls_key},
       .authority = site.joined.manifest.authority(),
       .certificate = site.joined.certificate},
      site.keys.tls);
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_OPENED_SITE_FOR_TEST_H_
