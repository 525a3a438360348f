#include "tacet/transport/relay/bundle.h"

#include <algorithm>
#include <string>

#include "tacet/base/format_ids.h"
#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/protocol/member_request.h"
#include "tacet/secagg/wire.h"

namespace tacet::transport::relay {
namespace {

constexpr uint8_t kLastCode = 16;  // of absl::StatusCode

absl::StatusOr<uint32_t> ReadNumber(base::ByteReader& reader) {
  TACET_ASSIGN_OR_RETURN(const uint32_t number, reader.ReadU32("number"));
  if (number <= kMaxCalls) return number;
  return base::DataLoss("{}: {} calls, at most {} are allowed", reader.what(), number, kMaxCalls);
}

absl::Status ReadAnswer(base::ByteReader& reader, RelayedAnswer& out) {
  TACET_ASSIGN_OR_RETURN(out.request, secagg::ReadArray<32>(reader, "request"));
  TACET_ASSIGN_OR_RETURN(const uint8_t code, reader.ReadU8("code"));
  if (code > kLastCode) {
    return base::DataLoss("{}: there is no code {}", reader.what(), code);
  }
  if (code == 0) {
    TACET_ASSIGN_OR_RETURN(const auto answer, reader.ReadBlob(kMaxAnswerBytes, "answer"));
    out.answer = base::Bytes(answer.begin(), answer.end());
    return absl::OkStatus();
  }
  TACET_ASSIGN_OR_RETURN(const std::string text, reader.ReadString(kMaxErrorBytes, "text"));
  auto status = static_cast<absl::StatusCode>(code);
  if (status == absl::StatusCode::kUnauthenticated) status = absl::StatusCode::kPermissionDenied;
  out.answer = absl::Status(status, base::PlainText(text, kMaxErrorBytes));
  return absl::OkStatus();
}

}  // namespace

base::Bytes WriteRequests(std::span<const base::Bytes> requests) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kRelayedRequests, writer);
  writer.U32(static_cast<uint32_t>(requests.size()));
  for (const base::Bytes& request : requests) writer.Blob(request);
  return writer.Take();
}

absl::StatusOr<std::vector<std::span<const uint8_t>>> ReadRequests(
    std::span<const uint8_t> bundle) {
  base::ByteReader reader(bundle, "bundle of requests");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kRelayedRequests, reader));
  TACET_ASSIGN_OR_RETURN(const uint32_t number, ReadNumber(reader));
  std::vector<std::span<const uint8_t>> requests;
  for (uint32_t i = 0; i < number; ++i) {
    TACET_ASSIGN_OR_RETURN(requests.emplace_back(),
                           reader.ReadBlob(protocol::kMaxRequestBytes, "request"));
  }
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return requests;
}

base::Bytes WriteAnswers(std::span<const RelayedAnswer> answers,
                         std::span<const PushedAnswer> pushed) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kRelayedAnswers, writer);
  writer.U32(static_cast<uint32_t>(answers.size()));
  for (const RelayedAnswer& answer : answers) {
    writer.Raw(answer.request);
    writer.U8(static_cast<uint8_t>(answer.answer.status().code()));
    if (answer.answer.ok()) {
      writer.Blob(*answer.answer);
    } else {
      writer.Blob(base::Message(answer.answer.status()).substr(0, kMaxErrorBytes));
    }
  }
  writer.U32(static_cast<uint32_t>(pushed.size()));
  for (const PushedAnswer& answer : pushed) {
    writer.Raw(answer.question);
    writer.Blob(answer.answer);
  }
  return writer.Take();
}

absl::StatusOr<AnswerBundle> ReadAnswers(std::span<const uint8_t> bundle) {
  base::ByteReader reader(bundle, "bundle of answers");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kRelayedAnswers, reader));
  TACET_ASSIGN_OR_RETURN(const uint32_t number, ReadNumber(reader));
  AnswerBundle read;
  for (uint32_t i = 0; i < number; ++i) {
    TACET_RETURN_IF_ERROR(ReadAnswer(reader, read.answers.emplace_back()));
  }
  TACET_ASSIGN_OR_RETURN(const uint32_t more, ReadNumber(reader));
  for (uint32_t i = 0; i < more; ++i) {
    PushedAnswer& pushed = read.pushed.emplace_back();
    TACET_ASSIGN_OR_RETURN(pushed.question, secagg::ReadArray<32>(reader, "question"));
    TACET_ASSIGN_OR_RETURN(const auto answer, reader.ReadBlob(kMaxAnswerBytes, "pushed answer"));
    pushed.answer.assign(answer.begin(), answer.end());
  }
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return read;
}

}  // namespace tacet::transport::relay
