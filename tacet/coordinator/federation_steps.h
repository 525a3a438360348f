// Steps of a federation's coordinator: founding it, enrolling its parties, and beginning epochs.
#ifndef TACET_COORDINATOR_FEDERATION_STEPS_H_
#define TACET_COORDINATOR_FEDERATION_STEPS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/coordinator/kept_exchange_keys.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::coordinator {

struct FoundingSpec {
  std::filesystem::path folder;
  std::string name;
  storage::file::TrainingTerms terms;
  uint64_t days = 0;  // for which the authority's certificate is valid
};

// Makes a federation's identity, keys and folder, and returns its coordinator's signing key. A
// folder that was made with the same name and agreement, and with the unlocker, is as good as long
// as nobody is enrolled in it: an earlier call may have ended before it said so. Errors of
// CoordinatorFolder::Create.
absl::StatusOr<crypto::PublicKey> FoundFederation(FoundingSpec spec,
                                                  const crypto::Unlocker& unlocker);

// FailedPrecondition for a second server: one replaces another by a new epoch, so there must be an
// epoch.
absl::Status CheckOneServer(const agreement::EnrolmentRequest& request,
                            const storage::file::CoordinatorFolder& folder);

// Issues a certificate for `days`, at most until the authority's expires, and enrols the party of
// the request. The caller has checked its fingerprint and role. InvalidArgument for no days or an
// expired authority; errors of CoordinatorFolder::Enrol.
absl::Status EnrolParty(std::span<const uint8_t> request, uint64_t days,
                        const crypto::TlsKey& authority, storage::file::CoordinatorFolder& folder);

struct NextEpochSpec {
  const storage::file::TrainingTerms* terms = nullptr;  // null: the folder's training continues
  std::set<std::string> removed = {};
  std::vector<std::string> committee = {};
  std::string server = {};          // HOST:PORT, for kits
  bool keep_exchange_keys = false;  // although the committee's are of an earlier epoch
};
struct NextEpoch {
  agreement::SignedManifest manifest;
  crypto::SecretBytes key;
  KeptExchangeKeys kept;
};
// Signs and begins the epoch behind the folder's last one. Errors leave the folder as it was:
// those of EnrolledWithout, SignManifest and CheckKitServer; FailedPrecondition where the committee
// keeps exchange keys unasked. `asked`: BegunEpoch.
absl::StatusOr<NextEpoch> BeginNextEpoch(const NextEpochSpec& spec, std::string_view asked,
                                         const crypto::SigningKey& coordinator,
                                         const crypto::Unlocker& unlocker,
                                         storage::file::CoordinatorFolder& folder);
// The folder's last epoch, if a call with the same `asked` began it and its invitations are not all
// written: the process ended before. Nothing where they are. FailedPrecondition where another call
// began it.
absl::StatusOr<std::optional<NextEpoch>> BegunEpoch(std::string_view asked,
                                                    const crypto::Unlocker& unlocker,
                                                    const storage::file::CoordinatorFolder& folder);

}  // namespace tacet::coordinator

#endif  // TACET_COORDINATOR_FEDERATION_STEPS_H_
