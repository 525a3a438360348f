// Signed manifest, held by every site of a federation: agreement, members and server of one epoch,
// its predecessor, and the coordinating member's signature (docs/formats/enrolment.md).
#ifndef TACET_AGREEMENT_SIGNED_MANIFEST_H_
#define TACET_AGREEMENT_SIGNED_MANIFEST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/agreement/manifest_member.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/sealed_box.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"

namespace tacet::agreement {

// The one server that members of an epoch connect to.
struct ManifestServer {
  std::string name;                     // as CheckSiteName allows; empty: the epoch has no server
  std::vector<std::string> hosts = {};  // DNS names and addresses
  base::Bytes tls_key = {};             // SubjectPublicKeyInfo, DER

  friend bool operator==(const ManifestServer&, const ManifestServer&) = default;
};

struct SignedManifestSpec {
  std::string federation;  // its name, as CheckSiteName allows
  uint32_t epoch = 0;
  crypto::Digest predecessor{};  // hash of the manifest of the epoch before; zeros in epoch 0
  // `clients`, `members`, `epoch` and `annex` follow from the others. `federation` is not zeros,
  // `training` at most the epoch.
  ManifestSpec agreement;
  ManifestServer server = {};
  std::string annex;                    // how members train and meet, as text
  std::vector<ManifestMember> members;  // by number
  base::Bytes authority;                // certificate that all others are signed by, DER
};

// Place of an epoch in the chain of its federation, and what was agreed for it.
struct EpochLink {
  std::string name;  // of the federation
  uint32_t epoch = 0;
  crypto::Digest predecessor{};
  crypto::Digest hash{};
  crypto::PublicKey coordinator{};
  std::vector<ManifestMember> members;
  ManifestSpec agreed;  // as signed: not planned

  bool begins_training() const { return agreed.training == epoch; }
};

// Checked and signed. Immutable.
class SignedManifest {
 public:
  // InvalidArgument when the agreement cannot be planned, a name or a key stands there twice, a
  // member has not signed its keys, or one on the committee comes without its KEM key.
  static absl::StatusOr<SignedManifest> Sign(SignedManifestSpec spec,
                                             const crypto::SigningKey& coordinator);
  // DataLoss when cut short, altered, or not signed by the key in it: whether that is the
  // coordinator's is for the caller to see.
  static absl::StatusOr<SignedManifest> Read(std::span<const uint8_t> bytes);

  const base::Bytes& bytes() const { return bytes_; }
  const std::string& federation() const { return spec_.federation; }
  uint32_t epoch() const { return spec_.epoch; }
  // The epoch with which the training began (ManifestSpec::training). An epoch that begins one
  // starts with round 0 and the initial model.
  uint32_t training() const { return spec_.agreement.training; }
  bool begins_training() const { return training() == epoch(); }
  const crypto::Digest& predecessor() const { return spec_.predecessor; }
  const ManifestServer& server() const { return spec_.server; }
  // Keys of the committee, by seat.
  std::vector<crypto::KemPublicKey> seat_keys() const;
  const std::string& annex() const { return spec_.annex; }
  const std::vector<ManifestMember>& members() const { return spec_.members; }
  const base::Bytes& authority() const { return spec_.authority; }
  const crypto::PublicKey& coordinator() const { return coordinator_; }
  const Manifest& manifest() const { return manifest_; }
  // The number of the member with this key; nothing when there is none.
  std::optional<uint64_t> MemberWith(const crypto::PublicKey& signing_key) const;
  EpochLink link() const;

 private:
  SignedManifest(SignedManifestSpec spec, Manifest manifest, const crypto::PublicKey& coordinator,
                 base::Bytes bytes)
      : spec_(std::move(spec)),
        manifest_(std::move(manifest)),
        coordinator_(coordinator),
        bytes_(std::move(bytes)) {}

  SignedManifestSpec spec_;
  Manifest manifest_;
  crypto::PublicKey coordinator_;
  base::Bytes bytes_;
};

// The link of a manifest, for readers of long chains: the coordinator's signature and the agreement
// in it are checked. What its members have signed, their keys and the plan are not: those who
// joined that epoch checked them by SignedManifest::Read. DataLoss as there.
absl::StatusOr<EpochLink> ReadEpochLink(std::span<const uint8_t> bytes);

// SHA-256 over everything in a signed manifest but agreement, annex and signatures. The manifest
// hash covers it, so two manifests with one hash are the same.
crypto::Digest EpochDigest(const SignedManifestSpec& spec, const crypto::PublicKey& coordinator);

// The key of the manifest's epoch (32 bytes) for one of its members, signed by the coordinating
// member. `kem_key` is from the request with the exchange key that the manifest names.
// InvalidArgument for a member that does not exist, a key that is none or one of another length.
absl::StatusOr<base::Bytes> EncryptEpochKey(const SignedManifest& manifest, uint64_t member,
                                            const crypto::KemPublicKey& kem_key,
                                            const crypto::SecretBytes& epoch_key,
                                            const crypto::SigningKey& coordinator,
                                            crypto::Entropy& entropy);

// PermissionDenied when it is for another member, epoch or manifest, or not signed by the
// manifest's coordinator; DataLoss when it was altered or the member's keys do not open it.
absl::StatusOr<crypto::SecretBytes> DecryptEpochKey(std::span<const uint8_t> sealed,
                                                    const SignedManifest& manifest, uint64_t member,
                                                    const crypto::SealingKey& sealing_key,
                                                    const crypto::KemKey& kem_key);

// The same for a reader that has no manifest yet: for whom the key is shows later, when
// DecryptEpochKey reads it.
absl::StatusOr<crypto::SecretBytes> OpenEpochKey(std::span<const uint8_t> sealed,
                                                 const crypto::PublicKey& coordinator,
                                                 const crypto::SealingKey& sealing_key,
                                                 const crypto::KemKey& kem_key);

// Invitation: the file that the coordinating member hands to one site, or to the server.
struct Invitation {
  base::Bytes manifest;                   // of SignedManifest
  std::vector<base::Bytes> earlier = {};  // manifests of all epochs before, from epoch 0 on
  base::Bytes certificate;                // the site's own, DER
  base::Bytes epoch_key;                  // of EncryptEpochKey; empty for the server
  base::Bytes initial_model;              // of WriteInitialModel; empty for the server
};
base::Bytes WriteInvitation(const Invitation& invitation);
// DataLoss when cut short; what the parts hold is for their own readers to check.
absl::StatusOr<Invitation> ReadInvitation(std::span<const uint8_t> bytes);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_SIGNED_MANIFEST_H_
