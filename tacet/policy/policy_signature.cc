#include "tacet/policy/policy_signature.h"

#include "tacet/agreement/labelled_signature.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/wire.h"

namespace tacet::policy {
namespace {

constexpr std::string_view kLabel = "tacet/1/site policy";

}  // namespace

base::Bytes SignPolicy(std::span<const uint8_t> policy, const crypto::SigningKey& officer) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kPolicySignature, writer);
  writer.Raw(officer.public_key());
  writer.Raw(crypto::Sha256(policy));
  agreement::AppendSignature(kLabel, officer, writer);
  return writer.Take();
}

absl::StatusOr<crypto::PublicKey> SignerOfPolicy(std::span<const uint8_t> policy,
                                                 std::span<const uint8_t> signature) {
  base::ByteReader reader(signature, "signature of the policy");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kPolicySignature, reader));
  TACET_ASSIGN_OR_RETURN(const crypto::PublicKey signer, secagg::ReadArray<32>(reader, "officer"));
  TACET_ASSIGN_OR_RETURN(const crypto::Digest digest, secagg::ReadArray<32>(reader, "digest"));
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         agreement::ReadSignature(kLabel, signer, signature, reader));
  if (!is_signed) {
    return base::DataLoss("signature of the policy: it is not of the key in it");
  }
  if (digest != crypto::Sha256(policy)) {
    return base::PermissionDenied("the policy was changed after its officer signed it");
  }
  return signer;
}

absl::Status CheckPolicySignature(std::span<const uint8_t> policy,
                                  std::span<const uint8_t> signature,
                                  const crypto::PublicKey& officer) {
  TACET_ASSIGN_OR_RETURN(const crypto::PublicKey signer, SignerOfPolicy(policy, signature));
  if (signer == officer) return absl::OkStatus();
  return base::PermissionDenied("the policy is signed by {}, this site's officer is {}",
                                agreement::FingerprintText(signer),
                                agreement::FingerprintText(officer));
}

}  // namespace tacet::policy
