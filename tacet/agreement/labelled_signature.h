// The signature with which a message ends: Ed25519 over a label and everything before it, so that
// no message of one kind can be taken for one of another.
#ifndef TACET_AGREEMENT_LABELLED_SIGNATURE_H_
#define TACET_AGREEMENT_LABELLED_SIGNATURE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/signing.h"

namespace tacet::agreement {

void AppendSignature(std::string_view label, const crypto::SigningKey& key,
                     base::ByteWriter& writer);

// Reads the signature at the end of `message`, of which `reader` has read everything before:
// whether it is that of `signer`. DataLoss when it is cut short or something follows it.
absl::StatusOr<bool> ReadSignature(std::string_view label, const crypto::PublicKey& signer,
                                   std::span<const uint8_t> message, base::ByteReader& reader);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_LABELLED_SIGNATURE_H_
