// Canonical bytes of an agreement (docs/formats/manifest.md): the input of its hash and signature,
// and its form on the wire.
#ifndef TACET_AGREEMENT_MANIFEST_BYTES_H_
#define TACET_AGREEMENT_MANIFEST_BYTES_H_

#include <span>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/bytes.h"

namespace tacet::agreement {

// Everything but the members' keys; `spec` as Manifest::spec() gives it.
base::Bytes AgreementBytes(const ManifestSpec& spec);
// The same, followed by the members' keys in the order of their numbers.
base::Bytes ManifestBytes(const ManifestSpec& spec);

// A spec with the same AgreementBytes (and no members), or the same ManifestBytes; its values are
// as they stand there, in range or not: Manifest::Create checks them. DataLoss names the field that
// is cut short or unknown, and says so when two keys of the members are equal, or the bytes are not
// the canonical ones.
absl::StatusOr<ManifestSpec> ReadAgreementBytes(std::span<const uint8_t> bytes);
absl::StatusOr<ManifestSpec> ReadManifestBytes(std::span<const uint8_t> bytes);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_MANIFEST_BYTES_H_
