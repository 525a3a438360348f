// Federation whose members run in one process, to put a server under load.
#ifndef TACET_LAB_LOAD_LOAD_FEDERATION_H_
#define TACET_LAB_LOAD_LOAD_FEDERATION_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/secret.h"

namespace tacet::app::load {

struct LoadFederationSpec {
  uint64_t clients = 1000;      // M
  uint64_t cohort = 0;          // K; 0: all
  uint64_t dimension = 486654;  // d
  uint32_t rounds = 1;
};

// Members that exist in this process only, and the server's folder, ready to be served: its keys
// are locked with `key_file`, which lies next to it.
// Zeros. Nobody has to be kept from guessing them.
agreement::InitialModel InitialModelOf(const agreement::ManifestSpec& agreed);

struct LoadFederation {
  std::unique_ptr<agreement::SignedManifest> manifest;
  std::vector<agreement::MemberKeys> sites;
  std::vector<agreement::ExchangeKeys> exchange_keys;  // of the sites
  std::vector<base::Bytes> certificates;               // of the sites, DER
  crypto::SecretBytes epoch_key;
  std::filesystem::path server_home, key_file;
};

// InvalidArgument for numbers that no federation can have; AlreadyExists when `folder` holds one.
// The server's certificate is for `host`.
absl::StatusOr<LoadFederation> MakeLoadFederation(const LoadFederationSpec& spec,
                                                  const std::filesystem::path& folder,
                                                  const std::string& host);

}  // namespace tacet::app::load

#endif  // TACET_LAB_LOAD_LOAD_FEDERATION_H_
