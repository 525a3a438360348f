// The signed file of an audit (docs/formats/audit.md).
#ifndef TACET_AUDIT_AUDIT_FILE_H_
#define TACET_AUDIT_AUDIT_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/crypto/signing.h"

namespace tacet::audit {

// Far above what a run of ten thousand rounds with a million charges needs.
inline constexpr size_t kMaxAuditBytes = size_t{256} << 20;

// {"record": RECORD, "signature": {...}} with the record's text as it was signed:
// Ed25519 over "tacet/audit/3", a zero byte and that text.
std::string SignedAudit(const base::JsonValue& record, const crypto::SigningKey& key);

struct AuditFile {
  std::string record_text;  // the signed bytes
  base::JsonValue record;
  crypto::PublicKey signer{};
  crypto::Signature signature{};
};

// DataLoss when the file is too long, not laid out like SignedAudit's or not JSON. Nothing is said
// about the signature.
absl::StatusOr<AuditFile> ReadAuditFile(std::string_view text);

// OK when the file is signed by the key it names; DataLoss otherwise.
absl::Status CheckSignature(const AuditFile& file);

}  // namespace tacet::audit

#endif  // TACET_AUDIT_AUDIT_FILE_H_
