// Keys that identify a site, and the site's request to be enrolled with them.
#ifndef TACET_AGREEMENT_MEMBER_KEYS_H_
#define TACET_AGREEMENT_MEMBER_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest_member.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/sealed_box.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"

namespace tacet::agreement {

// Keys that last as long as the site's enrolment. The site makes them itself; nothing of them
// leaves the site but the public halves. Exchange keys are apart: they last for an epoch.
struct MemberKeys {
  crypto::SigningKey signing;  // of its messages, votes and results
  crypto::SealingKey sealing;  // to which, and to ExchangeKeys::kem, epoch keys are encrypted
  crypto::TlsKey tls;          // of its connections
  // The officer whose signature the site's policy must bear; none: the site has no policy.
  std::optional<crypto::PublicKey> officer = std::nullopt;

  static MemberKeys Generate(crypto::Entropy& entropy);
};

// Keys that a member makes for one epoch and deletes with the next one. They are made, stored and
// deleted together.
struct ExchangeKeys {
  static constexpr size_t kSecretBytes =
      crypto::ExchangeKey::kSecretBytes + crypto::KemKey::kSeedBytes;

  crypto::ExchangeKey exchange;  // pair keys with the committee follow from it
  // To it, and to MemberKeys::sealing, epoch keys are encrypted. Pair keys follow from it, too: a
  // seat's from key packets, a client's because the coins of its packet follow from the seed.
  crypto::KemKey kem;

  static ExchangeKeys Generate(crypto::Entropy& entropy);
  ExchangePublicKeys public_keys() const {
    return {.exchange = exchange.public_key(), .kem = kem.public_key()};
  }
};

// docs/formats/keys.md, "Purposes": to be locked before they are stored.
crypto::SecretBytes WriteExchangeKeys(const ExchangeKeys& keys);
// DataLoss for another number of bytes.
absl::StatusOr<ExchangeKeys> ReadExchangeKeys(const crypto::SecretBytes& bytes);

// docs/formats/keys.md, "Site identity": to be locked before it is stored.
crypto::SecretBytes WriteSiteKeys(const MemberKeys& keys);
absl::StatusOr<MemberKeys> ReadSiteKeys(const crypto::SecretBytes& bytes);

// Most that requests and manifests have of a TLS key, of a server's hosts, and of a host or name.
inline constexpr size_t kMaxTlsKeyBytes = 1024;
inline constexpr size_t kMaxHosts = 100;
inline constexpr size_t kMaxHostBytes = 253;

// Names of sites and servers: 1 to 40 lower-case letters, digits and hyphens, a letter first.
absl::Status CheckSiteName(std::string_view name);

// Name and public keys that a site, or the server, asks to be enrolled with.
struct EnrolmentRequest {
  std::string name;
  bool server = false;
  std::vector<std::string> hosts;  // of the server: DNS names and addresses; none of a site
  crypto::PublicKey signing_key{};
  crypto::SealingPublicKey sealing_key{};
  ExchangePublicKeys exchange_keys{};    // of its next epoch; zeros for the server
  crypto::Signature member_signature{};  // as in ManifestMember
  base::Bytes tls_key;                   // SubjectPublicKeyInfo, DER

  friend bool operator==(const EnrolmentRequest&, const EnrolmentRequest&) = default;
};

// Signed with the site's own key, so that nobody asks in its name with other keys next to it. The
// server has hosts and exchange keys of zeros.
base::Bytes WriteEnrolmentRequest(std::string_view name, std::span<const std::string> server_hosts,
                                  const MemberKeys& keys, const ExchangePublicKeys& exchange_keys);

// The line of a manifest that the request asks for.
ManifestMember MemberOf(const EnrolmentRequest& request);

// DataLoss when cut short, altered or not signed by the key in it.
absl::StatusOr<EnrolmentRequest> ReadEnrolmentRequest(std::span<const uint8_t> bytes);

// Fingerprint that two people compare by telephone: SHA-256 of the request's bytes.
crypto::Digest RequestFingerprint(std::span<const uint8_t> request);
// 16 groups of four hexadecimal digits.
std::string FingerprintText(const crypto::Digest& fingerprint);
// InvalidArgument unless `text` holds the 64 digits; blanks, hyphens and colons between them do not
// matter.
absl::StatusOr<crypto::Digest> ParseFingerprint(std::string_view text);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_MEMBER_KEYS_H_
