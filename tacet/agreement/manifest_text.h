// An agreement in words.
#ifndef TACET_AGREEMENT_MANIFEST_TEXT_H_
#define TACET_AGREEMENT_MANIFEST_TEXT_H_

#include <string>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/json.h"

namespace tacet::agreement {

// Model, rounds, mechanism and encryption, a line each, with a heading of 12 columns.
std::string AgreementText(const agreement::Manifest& manifest);

// A line for each observer that has a guarantee: epsilon and delta of all permitted attempts, the
// worst observer first.
std::string EpsilonLines(const agreement::Manifest& manifest,
                         const accounting::Guarantees& guarantees);

// Members and agreement of a federation.
std::string MembershipText(const agreement::SignedManifest& manifest);

// All of it, the guarantee for every attempt that may ever be charged, and warnings.
absl::StatusOr<std::string> SignedManifestText(const agreement::SignedManifest& manifest);
base::JsonValue SignedManifestJson(const agreement::SignedManifest& manifest,
                                   base::JsonValue privacy);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_MANIFEST_TEXT_H_
