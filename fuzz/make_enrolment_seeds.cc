// Writes the seeds of the enrolment fuzzer: run it when a format changes.
// usage: make_enrolment_fuzz_seeds CORPUS_FOLDER
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "fuzz/fuzz_federation.h"
#include "fuzz/seed_folder.h"
#include "tacet/agreement/manifest_bytes.h"

namespace {

using namespace tacet;

crypto::PublicKey SigningKeyOf(std::string_view owner) {
  crypto::InsecureSeededEntropy entropy(1, owner);
  return crypto::SigningKey::Generate(entropy).public_key();
}

void WriteAgreements(const fuzz::SeedFolder& seeds) {
  agreement::ManifestSpec agreement = fuzz::FuzzFederation::Agreement();
  agreement.members = {{.signing_key = SigningKeyOf("one"), .exchange_key = {2}},
                       {.signing_key = SigningKeyOf("two"), .exchange_key = {4}}};
  seeds.WriteWithVariants("agreement-1", 1, agreement::ManifestBytes(agreement));
  agreement.plaintext_bits = 20;
  seeds.WriteWithVariants("agreement-2", 1, agreement::ManifestBytes(agreement));
  agreement.privacy.neighbouring = accounting::Neighbouring::kZeroOut;
  seeds.WriteWithVariants("agreement-3", 1, agreement::ManifestBytes(agreement));
  agreement.federated_part = "dense2";
  agreement.whole_dimension = 9;
  seeds.WriteWithVariants("agreement-4", 1, agreement::ManifestBytes(agreement));
  agreement.annex[0] = 1;
  seeds.WriteWithVariants("agreement-5", 1, agreement::ManifestBytes(agreement));
  agreement.mechanism.noise_law = dp::NoiseLaw::kDiscreteLaplace;
  seeds.WriteWithVariants("agreement-6", 1, agreement::ManifestBytes(agreement));
  // Committees: as agreed, of one member twice, and of more seats than there can be.
  agreement.committee = {.seats = 2, .corrupt = 0, .packing = 2};
  agreement.committee_members = {1, 0};
  seeds.WriteWithVariants("agreement-committee", 1, agreement::ManifestBytes(agreement));
  agreement.committee_members = {1, 1};
  seeds.Write("agreement-committee-twice", 1, agreement::ManifestBytes(agreement));
  agreement.committee.seats = 1'000'000;
  seeds.Write("agreement-committee-too-large", 1, agreement::ManifestBytes(agreement));
  // One key of two members.
  agreement = fuzz::FuzzFederation::Agreement();
  agreement.members = {{.signing_key = SigningKeyOf("one"), .exchange_key = {2}},
                       {.signing_key = SigningKeyOf("one"), .exchange_key = {4}}};
  seeds.Write("agreement-key-twice", 1, agreement::ManifestBytes(agreement));
  agreement.members[1] = {.signing_key = SigningKeyOf("two"), .exchange_key = {2}};
  seeds.Write("agreement-exchange-key-twice", 1, agreement::ManifestBytes(agreement));
  agreement.members[1].exchange_key = {1};
  seeds.Write("agreement-small-order", 1, agreement::ManifestBytes(agreement));
}

void WriteLockedSecrets(const fuzz::SeedFolder& seeds, fuzz::FuzzFederation& known) {
  const crypto::Unlocker passphrase = fuzz::ValueOrDie(crypto::Unlocker::FromPassphrase(
      crypto::SecretBytes(4), {.passes = 1, .memory_bytes = 8192}));
  const crypto::SecretBytes secret = known.entropy.Draw(40);
  const auto locked = [&](std::string_view purpose, const crypto::Unlocker& unlocker) {
    return fuzz::ValueOrDie(crypto::LockSecret(secret, purpose, unlocker, known.entropy));
  };
  seeds.WriteWithVariants("locked", 4, locked("key", known.key_file));
  base::Bytes with_passphrase = locked("key", known.passphrase);
  seeds.Write("locked-with-passphrase", 4, with_passphrase);
  with_passphrase[4 + 2 + 1 + 8 + 5] = 1;  // a terabyte of memory
  seeds.Write("locked-at-a-cost", 4, with_passphrase);
  seeds.Write("locked-other-purpose", 4, locked("model", known.key_file));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_enrolment_fuzz_seeds CORPUS_FOLDER\n");
    return 2;
  }
  const fuzz::SeedFolder seeds(std::filesystem::path(argv[1]) / "enrolment");
  fuzz::FuzzFederation known;
  const auto request_of = [&known](std::string_view name) {
    return agreement::WriteEnrolmentRequest(name, {}, known.site, known.SiteExchangeKeys());
  };
  seeds.WriteWithVariants("request", 0, request_of("north"));
  seeds.WriteWithVariants("server-request", 0,
                          agreement::WriteEnrolmentRequest("hub", known.hosts, known.site, {}));
  seeds.Write(
      "server-request-with-exchange-key", 0,
      agreement::WriteEnrolmentRequest("hub", known.hosts, known.site, known.SiteExchangeKeys()));
  base::Bytes request = request_of("north");
  request.back() ^= 1;
  agreement::ExchangePublicKeys keys = known.SiteExchangeKeys();
  keys.kem[0] = keys.kem[1] = 0xff;  // a coefficient of 4095
  seeds.Write("request-kem-key", 0,
              agreement::WriteEnrolmentRequest("north", {}, known.site, keys));
  keys.kem = {};
  seeds.Write("request-without-kem-key", 0,
              agreement::WriteEnrolmentRequest("north", {}, known.site, keys));
  seeds.Write("request-forged", 0, request);
  request[4 + 2 + 4 + 5] = 2;  // neither a site nor a server
  seeds.Write("request-of-nothing", 0, request);
  seeds.Write("request-name", 0, request_of("NORTH"));
  WriteAgreements(seeds);
  seeds.WriteWithVariants("manifest", 2, known.manifest.bytes());
  const auto sealed = [&](uint64_t member, const crypto::SigningKey& signer) {
    return fuzz::ValueOrDie(
        agreement::EncryptEpochKey(known.manifest, member, known.site_kem.public_key(),
                                   known.entropy.Draw(32), signer, known.entropy));
  };
  seeds.WriteWithVariants("epoch-key", 7, sealed(0, known.coordinator));
  seeds.Write("epoch-key-of-another", 7, sealed(1, known.coordinator));
  seeds.Write("epoch-key-forged", 7, sealed(0, known.site.signing));
  seeds.WriteWithVariants("invitation", 3,
                          agreement::WriteInvitation({.manifest = {1, 2, 3},
                                                      .certificate = known.certificate,
                                                      .epoch_key = sealed(0, known.coordinator),
                                                      .initial_model = base::Bytes(32 + 16)}));
  WriteLockedSecrets(seeds, known);
  seeds.WriteWithVariants("authority", 5, known.authority);
  seeds.WriteWithVariants("certificate", 5, known.certificate);
  seeds.Write("site-keys", 6, agreement::WriteSiteKeys(known.site).Expose());
  const auto exchange_keys = agreement::ExchangeKeys::Generate(known.entropy);
  seeds.Write("exchange-keys", 6, agreement::WriteExchangeKeys(exchange_keys).Expose());
  seeds.Write("fingerprint", 6,
              base::AsBytes(agreement::FingerprintText(known.coordinator.public_key())));
  return 0;
}
