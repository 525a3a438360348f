// Signature at the end of a message: Ed25519 over a label and all bytes before it. The label
// separates kinds of messages, so that a message of one kind is never accepted as another.
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
