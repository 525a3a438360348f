#include "tacet/secagg/attempt.h"

#include <algorithm>

#include "tacet/base/status.h"

namespace tacet::secagg {
namespace {

absl::StatusOr<crypto::Digest> ReadDigest(base::ByteReader& reader, std::string_view field) {
  crypto::Digest digest;
  TACET_ASSIGN_OR_RETURN(const auto bytes, reader.ReadBytes(digest.size(), field));
  std::ranges::copy(bytes, digest.begin());
  return digest;
}

absl::Status CheckNumber(uint32_t got, uint32_t expected, std::string_view what,
                         std::string_view field) {
  if (got == expected) return absl::OkStatus();
  return base::FailedPrecondition("{} is for {} {}, expected {}", what, field, got, expected);
}

absl::Status CheckDigest(const crypto::Digest& got, const crypto::Digest& expected,
                         std::string_view what, std::string_view field) {
  if (got == expected) return absl::OkStatus();
  return base::FailedPrecondition("{} has {} {}, expected {}", what, field, base::ToHex(got),
                                  base::ToHex(expected));
}

}  // namespace

void WriteAttempt(const Attempt& attempt, base::ByteWriter& writer) {
  writer.Raw(attempt.manifest_hash);
  writer.U32(attempt.number.epoch);
  writer.U32(attempt.number.round);
  writer.U32(attempt.number.attempt);
  writer.Raw(attempt.model_digest);
}

absl::StatusOr<Attempt> ReadAttempt(base::ByteReader& reader) {
  Attempt attempt;
  TACET_ASSIGN_OR_RETURN(attempt.manifest_hash, ReadDigest(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(attempt.number.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(attempt.number.round, reader.ReadU32("round"));
  TACET_ASSIGN_OR_RETURN(attempt.number.attempt, reader.ReadU32("attempt"));
  TACET_ASSIGN_OR_RETURN(attempt.model_digest, ReadDigest(reader, "model digest"));
  return attempt;
}

absl::Status CheckAttempt(const Attempt& got, const Attempt& expected, std::string_view what) {
  TACET_RETURN_IF_ERROR(
      CheckDigest(got.manifest_hash, expected.manifest_hash, what, "manifest hash"));
  TACET_RETURN_IF_ERROR(CheckNumber(got.number.epoch, expected.number.epoch, what, "epoch"));
  TACET_RETURN_IF_ERROR(CheckNumber(got.number.round, expected.number.round, what, "round"));
  TACET_RETURN_IF_ERROR(CheckNumber(got.number.attempt, expected.number.attempt, what, "attempt"));
  return CheckDigest(got.model_digest, expected.model_digest, what, "model digest");
}

}  // namespace tacet::secagg
