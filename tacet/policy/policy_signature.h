// Signature of a site's policy by its officer, in a small file of its own.
#ifndef TACET_POLICY_POLICY_SIGNATURE_H_
#define TACET_POLICY_POLICY_SIGNATURE_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/signing.h"

namespace tacet::policy {

// For the bytes of a policy file (docs/formats/policy.md).
base::Bytes SignPolicy(std::span<const uint8_t> policy, const crypto::SigningKey& officer);

// The signer of the policy. DataLoss when the signature is cut short or damaged, PermissionDenied
// when it is of another policy.
absl::StatusOr<crypto::PublicKey> SignerOfPolicy(std::span<const uint8_t> policy,
                                                 std::span<const uint8_t> signature);

// Errors of SignerOfPolicy; PermissionDenied when the signer is another officer.
absl::Status CheckPolicySignature(std::span<const uint8_t> policy,
                                  std::span<const uint8_t> signature,
                                  const crypto::PublicKey& officer);

}  // namespace tacet::policy

#endif  // TACET_POLICY_POLICY_SIGNATURE_H_
