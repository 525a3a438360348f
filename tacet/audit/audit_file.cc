#include "tacet/audit/audit_file.h"

#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/base/json_members.h"
#include "tacet/base/status.h"

namespace tacet::audit {
namespace {

using base::JsonMembers;
using base::JsonValue;

constexpr std::string_view kLabel("tacet/audit/3\0", 14);
constexpr std::string_view kAlgorithm = "ed25519";
// A JSON string has no line break of its own, so the second one cannot stand inside the record's
// strings; the last of them begins the signature.
constexpr std::string_view kBeforeRecord = "{\n\"record\": ";
constexpr std::string_view kBeforeSignature = ",\n\"signature\": ";
constexpr std::string_view kEnd = "\n}\n";

base::Bytes SignedBytes(std::string_view record_text) {
  base::ByteWriter writer;
  writer.Reserve(kLabel.size() + record_text.size());
  writer.Raw(kLabel);
  writer.Raw(record_text);
  return writer.Take();
}

absl::Status Layout(std::string_view what) {
  return base::DataLoss("this is not a file that `tacet audit` wrote: {}", what);
}

}  // namespace

std::string SignedAudit(const JsonValue& record, const crypto::SigningKey& key) {
  const std::string text = record.Dump(2);
  const JsonValue signature = JsonValue::MakeObject()
                                  .Set("algorithm", kAlgorithm)
                                  .Set("key", base::ToHex(key.public_key()))
                                  .Set("fingerprint", crypto::KeyFingerprint(key.public_key()))
                                  .Set("value", base::ToHex(key.Sign(SignedBytes(text))));
  return fmt::format("{}{}{}{}{}", kBeforeRecord, text, kBeforeSignature, signature.Dump(2), kEnd);
}

absl::StatusOr<AuditFile> ReadAuditFile(std::string_view text) {
  if (text.size() > kMaxAuditBytes) return Layout("it is too long");
  if (!text.starts_with(kBeforeRecord)) return Layout("it does not begin with a record");
  if (!text.ends_with(kEnd)) return Layout("its end is missing");
  const size_t at = text.rfind(kBeforeSignature);
  if (at == std::string_view::npos || at < kBeforeRecord.size()) {
    return Layout("it has no signature");
  }
  AuditFile file;
  file.record_text = text.substr(kBeforeRecord.size(), at - kBeforeRecord.size());
  absl::StatusOr<JsonValue> record = JsonValue::Parse(file.record_text);
  if (!record.ok()) return Layout("record: " + base::Message(record.status()));
  file.record = *std::move(record);
  if (!file.record.is_object()) return Layout("its record is not a JSON object");

  const size_t begin = at + kBeforeSignature.size();
  if (begin + kEnd.size() > text.size()) return Layout("its signature is cut short");
  const auto signature = JsonValue::Parse(text.substr(begin, text.size() - kEnd.size() - begin));
  if (!signature.ok()) return Layout("signature: " + base::Message(signature.status()));
  std::string algorithm, fingerprint;
  JsonMembers members(*signature);
  members.Need("algorithm", algorithm);
  members.Need("key", file.signer);
  members.Need("fingerprint", fingerprint);
  members.Need("value", file.signature);
  TACET_RETURN_IF_ERROR(base::Annotate(members.status(), "signature"));
  if (algorithm != kAlgorithm) {
    return base::DataLoss("the signature's algorithm is \"{}\", expected \"{}\"", algorithm,
                          kAlgorithm);
  }
  if (fingerprint != crypto::KeyFingerprint(file.signer)) {
    return base::DataLoss("the signature's fingerprint is not that of its key");
  }
  return file;
}

absl::Status CheckSignature(const AuditFile& file) {
  if (crypto::VerifySignature(file.signer, SignedBytes(file.record_text), file.signature)) {
    return absl::OkStatus();
  }
  return base::DataLoss("the signature is not that of this record under the key {}",
                        crypto::KeyFingerprint(file.signer));
}

}  // namespace tacet::audit
