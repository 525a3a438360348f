// Conversion of the public options to the structures of the library.
#ifndef TACET_API_CORE_OPTIONS_H_
#define TACET_API_CORE_OPTIONS_H_

#include "absl/status/statusor.h"

#include "tacet/accounting/federation_privacy.h"
#include "tacet/agreement.h"
#include "tacet/agreement/manifest.h"
#include "tacet/federation_options.h"

namespace tacet::api {

// InvalidArgument names an option that the accountants do not check themselves.
absl::StatusOr<accounting::FederationPrivacySpec> PrivacySpecOf(const FederationOptions& options);

// Participants, mechanism, committee and guarantee as an agreement has them, which Manifest::Create
// checks further. InvalidArgument names the option.
absl::StatusOr<agreement::ManifestSpec> TermsOf(const FederationOptions& options);

// All terms of an agreement, whose further checks are Manifest::Create's.
absl::StatusOr<agreement::ManifestSpec> ManifestSpecOf(const AgreementOptions& options);

// `options` with the defaults that `spec`, a checked manifest's, has filled in.
AgreementOptions WithDefaults(AgreementOptions options, const agreement::ManifestSpec& spec);

}  // namespace tacet::api

#endif  // TACET_API_CORE_OPTIONS_H_
