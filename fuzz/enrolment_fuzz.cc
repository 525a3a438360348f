// All files that sites and the coordinating member hand each other, and keys at rest. The first
// byte picks the format of the rest.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_federation.h"
#include "tacet/agreement/manifest_bytes.h"

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
      const auto request = agreement::ReadEnrolmentRequest(bytes);
      if (!request.ok()) break;
      if (!agreement::CheckSiteName(request->name).ok()) std::abort();
      if (!crypto::CheckKemKey(request->exchange_keys.kem).ok()) std::abort();
      break;
    }
    case 1: {
      const auto manifest = agreement::ReadManifestBytes(bytes);
      if (!manifest.ok()) break;
      same(agreement::ManifestBytes(*manifest));
      if (!agreement::CheckMemberKeys(manifest->members).ok()) std::abort();
      break;
    }
    case 2: {
      const auto manifest = agreement::SignedManifest::Read(bytes);
      if (!manifest.ok()) break;
      same(manifest->bytes());
      const auto north = manifest->MemberWith(known.site.signing.public_key());
      if (north.has_value() && manifest->members()[*north].name != "north") std::abort();
      break;
    }
    case 3: {
      const auto invitation = agreement::ReadInvitation(bytes);
      if (invitation.ok()) same(agreement::WriteInvitation(*invitation));
      break;
    }
    case 4: {
      // Passphrases only where a guess is cheap, or too expensive to be tried.
      constexpr size_t kMemoryAt = 4 + 2 + 1 + 8;
      const uint64_t memory =
          bytes.size() < kMemoryAt + 8 ? 0 : base::LoadU64(bytes.data() + kMemoryAt);
      const bool cheap = memory <= 1 << 14 || memory > uint64_t{1} << 30;
      for (const crypto::Unlocker* unlocker : {&known.key_file, &known.passphrase}) {
        if (unlocker == &known.passphrase && !cheap) continue;
        const auto secret = crypto::UnlockSecret(bytes, "key", *unlocker);
        if (!secret.ok()) continue;
        const auto again = crypto::LockSecret(*secret, "key", *unlocker, known.entropy);
        if (!again.ok() || again->size() != bytes.size()) std::abort();
      }
      break;
    }
    case 5: {
      const auto facts = crypto::ReadCertificate(bytes);
      if (!facts.ok()) break;
      if (facts->fingerprint != crypto::Sha256(bytes)) std::abort();
      (void)crypto::CheckIssuedBy(bytes, known.authority);
      break;
    }
    case 6: {
      const crypto::SecretBytes secret = crypto::SecretBytes::CopyOf(bytes);
      const auto keys = agreement::ReadSiteKeys(secret);
      if (keys.ok() && !std::ranges::equal(agreement::WriteSiteKeys(*keys).Expose(), bytes)) {
        std::abort();
      }
      const auto exchange_keys = agreement::ReadExchangeKeys(secret);
      if (exchange_keys.ok() &&
          !std::ranges::equal(agreement::WriteExchangeKeys(*exchange_keys).Expose(), bytes)) {
        std::abort();
      }
      const auto fingerprint = agreement::ParseFingerprint(base::AsText(bytes));
      if (!fingerprint.ok()) break;
      const auto again = agreement::ParseFingerprint(agreement::FingerprintText(*fingerprint));
      if (!again.ok() || *again != *fingerprint) std::abort();
      break;
    }
    case 7: {
      const auto key =
          agreement::DecryptEpochKey(bytes, known.manifest, 0, known.site.sealing, known.site_kem);
      if (key.ok() && !agreement::EncryptEpochKey(known.manifest, 0, known.site_kem.public_key(),
                                                  *key, known.coordinator, known.entropy)
                           .ok()) {
        std::abort();
      }
      break;
    }
    default:
      break;
  }
  return 0;
}
