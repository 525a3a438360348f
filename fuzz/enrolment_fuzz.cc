// Everything that sites and the coordinating member hand each other, and keys at rest. The first
// byte picks what the rest is read as.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "fuzz/fuzz_round.h"
#include "tacet/base/certificates.h"
#include "tacet/base/locked_secret.h"
#include "tacet/federation/manifest_bytes.h"
#include "tacet/federation/signed_manifest.h"
#include "tacet/federation/site_keys.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  switch (data[0] % 7) {
    case 0: {
      const auto request = federation::ReadEnrolmentRequest(bytes);
      if (request.ok() && !federation::CheckSiteName(request->name).ok()) std::abort();
      break;
    }
    case 1: {
      const auto manifest = federation::ReadManifestBytes(bytes);
      if (manifest.ok() && !std::ranges::equal(federation::ManifestBytes(*manifest), bytes)) {
        std::abort();
      }
      break;
    }
    case 2: {
      const auto manifest = federation::SignedManifest::Read(bytes);
      if (manifest.ok() && !std::ranges::equal(manifest->bytes(), bytes)) std::abort();
      break;
    }
    case 3: {
      const auto invitation = federation::ReadInvitation(bytes);
      if (invitation.ok() && !std::ranges::equal(federation::WriteInvitation(*invitation), bytes)) {
        std::abort();
      }
      break;
    }
    case 4: {
      static const base::Unlocker& unlocker =
          *new base::Unlocker(fuzz::ValueOrDie(base::Unlocker::FromKeyFile(base::SecretBytes(32))));
      (void)base::UnlockSecret(bytes, "key", unlocker);
      break;
    }
    case 5: {
      const auto facts = base::ReadCertificate(bytes);
      if (facts.ok() && facts->fingerprint != base::Sha256(bytes)) std::abort();
      break;
    }
    case 6:
      (void)federation::ReadSiteKeys(base::SecretBytes::CopyOf(bytes));
      (void)federation::ParseFingerprint(base::AsText(bytes));
      break;
    default:
      break;
  }
  return 0;
}
