// An agreement in words.
#ifndef TACET_APPS_TACET_RUN_MANIFEST_TEXT_H_
#define TACET_APPS_TACET_RUN_MANIFEST_TEXT_H_

#include <string>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/federation/manifest.h"
#include "tacet/federation/signed_manifest.h"

namespace tacet::app {

// Model, rounds, mechanism and encryption, a line each, with a heading of 12 columns.
std::string AgreementText(const federation::Manifest& manifest);

// Who belongs to a federation and what was agreed.
std::string MembershipText(const federation::SignedManifest& manifest);

// All of it, the guarantee for every attempt that may ever be charged, and warnings.
absl::StatusOr<std::string> SignedManifestText(const federation::SignedManifest& manifest);
base::JsonValue SignedManifestJson(const federation::SignedManifest& manifest,
                                   base::JsonValue privacy);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_RUN_MANIFEST_TEXT_H_
