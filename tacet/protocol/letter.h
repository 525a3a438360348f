// Letter: an invitation that a site fetches from the server (docs/design/mailbox.md).
//
// The letter has the site's own parts, the enclosure those of all sites, encrypted. Together they
// are the invitation file.
#ifndef TACET_PROTOCOL_LETTER_H_
#define TACET_PROTOCOL_LETTER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"

namespace tacet::protocol {

inline constexpr size_t kMaxLetterBytes = size_t{16} << 10;
inline constexpr size_t kMaxEnclosureBytes = size_t{64} << 20;

// The time that a letter waits for its site, so that its end also says since when.
inline constexpr uint64_t kLetterSeconds = 90 * base::kSecondsADay;

struct Letter {
  crypto::Digest federation{};  // Manifest::federation()
  crypto::PublicKey site{};     // signing key of the site that may fetch it
  uint32_t epoch = 0;
  crypto::Digest manifest_hash{};
  uint64_t expires = 0;     // Unix seconds, after which the server forgets it
  base::Bytes certificate;  // the site's own, DER
  base::Bytes epoch_key;    // of agreement::EncryptEpochKey
  uint64_t enclosure_bytes = 0;
  crypto::Digest enclosure{};  // SHA-256

  friend bool operator==(const Letter&, const Letter&) = default;
};

base::Bytes WriteLetter(const Letter& letter, const crypto::SigningKey& coordinator);
// DataLoss when cut short or altered in form; PermissionDenied unless `coordinator` signed it.
absl::StatusOr<Letter> ReadLetter(std::span<const uint8_t> bytes,
                                  const crypto::PublicKey& coordinator);

// The parts of an invitation that all sites share. The same invitation once more is the same bytes.
base::Bytes SealEnclosure(const agreement::Invitation& invitation,
                          const crypto::Digest& manifest_hash,
                          const crypto::SecretBytes& epoch_key);
// The invitation, with the site's own parts from `letter`. DataLoss for another enclosure than the
// letter names, and where the epoch key does not open it.
absl::StatusOr<agreement::Invitation> OpenEnclosure(std::span<const uint8_t> enclosure,
                                                    const Letter& letter,
                                                    const crypto::SecretBytes& epoch_key);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_LETTER_H_
