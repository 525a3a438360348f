#include "tacet/simulation/rank_messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "tacet/base/float_bytes.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::simulation {
namespace {

constexpr size_t kSecretBytes = 32;
constexpr size_t kSeatBytes = 4 + 8 + 1;
constexpr size_t kTaskBytes = 4 + 2 + kSecretBytes + 8 + 4;  // without seats
constexpr size_t kMaxNoteBytes = 1000;

enum class JobKind : uint8_t { kAttempt = 1, kEnd = 2 };

absl::Status ReadDigest(base::ByteReader& reader, std::string_view field,
                        std::array<uint8_t, 32>& digest) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, reader.ReadBytes(digest.size(), field));
  std::ranges::copy(bytes, digest.begin());
  return absl::OkStatus();
}

absl::Status ReadSeconds(base::ByteReader& reader, std::string_view field, double& seconds) {
  TACET_ASSIGN_OR_RETURN(seconds, reader.ReadF64(field));
  if (seconds >= 0 && std::isfinite(seconds)) return absl::OkStatus();
  return base::DataLoss("rank report: field `{}` is {}, not a duration", field, seconds);
}

}  // namespace

base::Bytes WriteRankHello(const RankHello& hello) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kRankHello, writer);
  writer.Raw(hello.agreement);
  writer.Raw(hello.key);
  return writer.Take();
}

absl::StatusOr<RankHello> ReadRankHello(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "rank hello");
  RankHello hello;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kRankHello, reader));
  TACET_RETURN_IF_ERROR(ReadDigest(reader, "agreement", hello.agreement));
  TACET_RETURN_IF_ERROR(ReadDigest(reader, "key", hello.key));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return hello;
}

base::Bytes WriteRankJob(const secagg::Attempt& attempt, std::span<const float> model) {
  base::ByteWriter writer;
  writer.Reserve(MaxRankJobBytes(model.size()));
  base::WritePreamble(base::format::kRankJob, writer);
  writer.U8(static_cast<uint8_t>(JobKind::kAttempt));
  secagg::WriteAttempt(attempt, writer);
  writer.Raw(base::FloatBytes(model));
  return writer.Take();
}

base::Bytes WriteRankEnd() {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kRankJob, writer);
  writer.U8(static_cast<uint8_t>(JobKind::kEnd));
  return writer.Take();
}

absl::StatusOr<std::optional<RankJob>> ReadRankJob(std::span<const uint8_t> bytes,
                                                   uint64_t dimension) {
  base::ByteReader reader(bytes, "rank job");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kRankJob, reader));
  TACET_ASSIGN_OR_RETURN(const uint8_t kind, reader.ReadU8("kind"));
  if (kind == static_cast<uint8_t>(JobKind::kEnd)) {
    TACET_RETURN_IF_ERROR(reader.ExpectEnd());
    return std::nullopt;
  }
  if (kind != static_cast<uint8_t>(JobKind::kAttempt)) {
    return base::DataLoss("rank job: field `kind` is {}, it must be 1 or 2", kind);
  }
  RankJob job;
  TACET_ASSIGN_OR_RETURN(job.attempt, secagg::ReadAttempt(reader));
  TACET_ASSIGN_OR_RETURN(job.model, base::ReadFloats(reader, dimension, "model"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return job;
}

size_t MaxRankJobBytes(uint64_t dimension) {
  return 4 + 2 + 1 + secagg::kAttemptBytes + sizeof(float) * dimension;
}

absl::StatusOr<base::Bytes> EncryptRankTask(const RankTask& task,
                                            const crypto::SealingPublicKey& to) {
  base::ByteWriter writer;
  writer.Reserve(kTaskBytes + kSeatBytes * task.share.seats.size());  // so that it never moves
  base::WritePreamble(base::format::kRankTask, writer);
  writer.Raw(task.secrets.epoch_key.Expose());
  writer.Raw(task.secrets.exchange_seed.Expose());
  writer.F64(task.share.mean_samples);
  writer.U32(static_cast<uint32_t>(task.share.seats.size()));
  for (const Seat& seat : task.share.seats) {
    writer.U32(seat.place);
    writer.U64(seat.client);
    writer.U8(seat.is_cover ? 1 : 0);
  }
  base::Bytes plaintext = writer.Take();
  absl::StatusOr<base::Bytes> sealed = crypto::SealFor(to, plaintext);
  crypto::Wipe(plaintext.data(), plaintext.size());
  return sealed;
}

absl::StatusOr<RankTask> DecryptRankTask(std::span<const uint8_t> sealed,
                                         const crypto::SealingKey& key, uint64_t clients) {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes plaintext, key.Open(sealed));
  base::ByteReader reader(plaintext.Expose(), "rank task");
  RankTask task;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kRankTask, reader));
  TACET_ASSIGN_OR_RETURN(const auto epoch_key, reader.ReadBytes(kSecretBytes, "epoch key"));
  task.secrets.epoch_key = crypto::SecretBytes::CopyOf(epoch_key);
  TACET_ASSIGN_OR_RETURN(const auto exchange_seed, reader.ReadBytes(kSecretBytes, "exchange seed"));
  task.secrets.exchange_seed = crypto::SecretBytes::CopyOf(exchange_seed);
  TACET_ASSIGN_OR_RETURN(task.share.mean_samples, reader.ReadF64("mean samples"));
  TACET_ASSIGN_OR_RETURN(const uint32_t seats, reader.ReadU32("seats"));
  TACET_ASSIGN_OR_RETURN(const auto list, reader.ReadBytes(kSeatBytes * seats, "seats"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  task.share.seats.reserve(seats);
  for (uint32_t i = 0; i < seats; ++i) {
    const uint8_t* const entry = list.data() + kSeatBytes * i;
    task.share.seats.push_back({.place = base::LoadU32(entry),
                                .client = base::LoadU64(entry + 4),
                                .is_cover = entry[12] == 1});
    if (entry[12] > 1) {
      return base::DataLoss("rank task: field `seats` has a cover flag {}", entry[12]);
    }
    if (task.share.seats.back().client >= clients) {
      return base::DataLoss("rank task: field `seats` names a client beyond the {} there are",
                            clients);
    }
  }
  return task;
}

size_t MaxRankTaskBytes(uint64_t clients) {
  return crypto::kSealedBoxOverheadBytes + kTaskBytes + kSeatBytes * clients;
}

void RankReport::Note(std::string_view text) {
  if (notes.size() < kMaxNotes) {
    notes.emplace_back(text.substr(0, kMaxNoteBytes));
  } else {
    ++more_notes;
  }
}

void RankReport::Add(const RankReport& other) {
  threads += other.threads;
  train_seconds += other.train_seconds;
  seal_seconds += other.seal_seconds;
  add_seconds += other.add_seconds;
  more_notes += other.more_notes;
  for (const std::string& note : other.notes) Note(note);
}

base::Bytes WriteRankReport(const RankReport& report) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kRankReport, writer);
  writer.U32(report.threads);
  writer.F64(report.train_seconds);
  writer.F64(report.seal_seconds);
  writer.F64(report.add_seconds);
  writer.U64(report.more_notes);
  writer.U32(static_cast<uint32_t>(report.notes.size()));
  for (const std::string& note : report.notes) writer.Blob(note);
  return writer.Take();
}

absl::StatusOr<RankReport> ReadRankReport(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "rank report");
  RankReport report;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kRankReport, reader));
  TACET_ASSIGN_OR_RETURN(report.threads, reader.ReadU32("threads"));
  TACET_RETURN_IF_ERROR(ReadSeconds(reader, "train seconds", report.train_seconds));
  TACET_RETURN_IF_ERROR(ReadSeconds(reader, "seal seconds", report.seal_seconds));
  TACET_RETURN_IF_ERROR(ReadSeconds(reader, "add seconds", report.add_seconds));
  TACET_ASSIGN_OR_RETURN(report.more_notes, reader.ReadU64("more notes"));
  TACET_ASSIGN_OR_RETURN(const uint32_t notes, reader.ReadU32("notes"));
  if (notes > RankReport::kMaxNotes) {
    return base::DataLoss("rank report: field `notes` is {}, at most {} are sent", notes,
                          RankReport::kMaxNotes);
  }
  for (uint32_t i = 0; i < notes; ++i) {
    TACET_ASSIGN_OR_RETURN(std::string note, reader.ReadString(kMaxNoteBytes, "note"));
    report.notes.push_back(std::move(note));
  }
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return report;
}

}  // namespace tacet::simulation
