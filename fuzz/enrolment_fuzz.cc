// Everything that sites and the coordinating member hand each other, and keys at rest. The first
// byte picks what the rest is read as.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_federation.h"
#include "tacet/federation/manifest_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  static fuzz::FuzzFederation& known = *new fuzz::FuzzFederation;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  const auto same = [&bytes](const base::Bytes& again) {
    if (!std::ranges::equal(again, bytes)) std::abort();
  };
  switch (data[0] % 8) {
    case 0: {
      const auto request = federation::ReadEnrolmentRequest(bytes);
      if (request.ok() && !federation::CheckSiteName(request->name).ok()) std::abort();
      break;
    }
    case 1: {
      const auto manifest = federation::ReadManifestBytes(bytes);
      if (manifest.ok()) same(federation::ManifestBytes(*manifest));
      break;
    }
    case 2: {
      const auto manifest = federation::SignedManifest::Read(bytes);
      if (!manifest.ok()) break;
      same(manifest->bytes());
      if (manifest->MemberNamed("north") != manifest->MemberWith(known.site.signing.public_key())) {
        std::abort();
      }
      break;
    }
    case 3: {
      const auto invitation = federation::ReadInvitation(bytes);
      if (invitation.ok()) same(federation::WriteInvitation(*invitation));
      break;
    }
    case 4: {
      // Passphrases only where a guess is cheap, or too dear to be tried.
      constexpr size_t kMemoryAt = 4 + 2 + 1 + 8;
      const uint64_t memory =
          bytes.size() < kMemoryAt + 8 ? 0 : base::LoadU64(bytes.data() + kMemoryAt);
      const bool cheap = memory <= 1 << 14 || memory > uint64_t{1} << 30;
      for (const base::Unlocker* unlocker : {&known.key_file, &known.passphrase}) {
        if (unlocker == &known.passphrase && !cheap) continue;
        const auto secret = base::UnlockSecret(bytes, "key", *unlocker);
        if (!secret.ok()) continue;
        const auto again = base::LockSecret(*secret, "key", *unlocker, known.entropy);
        if (!again.ok() || again->size() != bytes.size()) std::abort();
      }
      break;
    }
    case 5: {
      const auto facts = base::ReadCertificate(bytes);
      if (!facts.ok()) break;
      if (facts->fingerprint != base::Sha256(bytes)) std::abort();
      (void)base::CheckIssuedBy(bytes, known.authority);
      (void)base::CertificatePem(bytes);
      break;
    }
    case 6: {
      const base::SecretBytes secret = base::SecretBytes::CopyOf(bytes);
      const auto keys = federation::ReadSiteKeys(secret);
      if (keys.ok() && !std::ranges::equal(federation::WriteSiteKeys(*keys).Expose(), bytes)) {
        std::abort();
      }
      const auto fingerprint = federation::ParseFingerprint(base::AsText(bytes));
      if (!fingerprint.ok()) break;
      const auto again = federation::ParseFingerprint(federation::FingerprintText(*fingerprint));
      if (!again.ok() || *again != *fingerprint) std::abort();
      break;
    }
    case 7: {
      const auto key = federation::OpenEpochKey(bytes, known.manifest, 0, known.site.sealing);
      if (key.ok() && !federation::SealEpochKey(known.manifest, 0, *key, known.coordinator).ok()) {
        std::abort();
      }
      break;
    }
    default:
      break;
  }
  return 0;
}
