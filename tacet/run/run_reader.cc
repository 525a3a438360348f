#include "tacet/run/run_reader.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "tacet/agreement/manifest_bytes.h"
#include "tacet/base/bytes.h"
#include "tacet/base/json_members.h"
#include "tacet/base/status.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/protocol/attestation.h"
#include "tacet/run/configured_simulation.h"
#include "tacet/run/run_output.h"
#include "tacet/storage/file/digest_key_file.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/run_directory.h"

namespace tacet::run {
namespace {

using base::JsonValue;

// Far above what a run of a million rounds writes.
constexpr uintmax_t kMaxSmallBytes = uintmax_t{4} << 20;  // config.toml, start.json
constexpr uintmax_t kMaxSummaryBytes = uintmax_t{64} << 20;
constexpr uintmax_t kMaxGrowingBytes = uintmax_t{1} << 30;  // metrics.jsonl, ledger

absl::Status CheckSize(const std::filesystem::path& path, uintmax_t most) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory) {
    return base::NotFound("there is no {}", path.string());
  }
  if (error) return base::Unavailable("cannot read {}: {}", path.string(), error.message());
  if (size <= most) return absl::OkStatus();
  return base::DataLoss("{} has {} bytes, expected at most {}", path.string(), size, most);
}

// Absent when there is no such file.
absl::StatusOr<std::optional<JsonValue>> ReadJsonFile(const std::filesystem::path& path,
                                                      uintmax_t most) {
  const absl::StatusOr<std::string> text = ReadText(path, most);
  if (text.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(text.status());
  absl::StatusOr<JsonValue> value = JsonValue::Parse(*text);
  if (!value.ok()) return base::Annotate(value.status(), path.string());
  if (!value->is_object()) return base::DataLoss("{} holds no JSON object", path.string());
  return std::optional<JsonValue>(*std::move(value));
}

}  // namespace

absl::StatusOr<simulation::RoundRecord> RoundOf(std::string_view line) {
  TACET_ASSIGN_OR_RETURN(const JsonValue value, JsonValue::Parse(line));
  simulation::RoundRecord round;
  base::JsonMembers members(value);
  members.Need("round", round.round);
  members.Need("cohort_size", round.cohort_size);
  members.Need("abstained", round.abstained);
  members.Need("abstains", round.abstains);
  members.Need("attempts", round.attempts);
  members.Need("charged_attempts", round.charged_attempts);
  members.Take("model", round.model);
  if (round.model.has_value()) members.Need("model_epoch", round.model_epoch);
  trainer::Evaluation evaluation;
  members.Take("accuracy", evaluation.accuracy);
  members.Take("loss", evaluation.loss);
  members.Take("auc", evaluation.auc);
  if (evaluation.accuracy || evaluation.loss || evaluation.auc) round.evaluation = evaluation;
  round.charged_epsilon = std::numeric_limits<double>::infinity();
  members.Take("charged_epsilon", round.charged_epsilon);
  members.Take("upload_bytes", round.upload_bytes);
  members.Take("sum_bytes", round.sum_bytes);
  TACET_RETURN_IF_ERROR(members.status());
  base::JsonMembers seconds(members.Child("seconds"));
  seconds.Take("sample", round.seconds.sample);
  seconds.Take("train", round.seconds.train);
  seconds.Take("seal", round.seconds.seal);
  seconds.Take("add", round.seconds.add);
  seconds.Take("open", round.seconds.open);
  seconds.Take("evaluate", round.seconds.evaluate);
  seconds.Take("total", round.seconds.total);
  TACET_RETURN_IF_ERROR(base::Annotate(seconds.status(), "seconds"));
  return round;
}

namespace {

// The results of `parse` for each complete line; one that is being written, or that a crash cut
// short, is none. Empty when there is no such file.
template <typename T>
absl::StatusOr<std::vector<T>> ReadLines(const std::filesystem::path& path,
                                         absl::StatusOr<T> (*parse)(std::string_view, size_t)) {
  const absl::StatusOr<std::string> text = ReadText(path, kMaxGrowingBytes);
  std::vector<T> all;
  if (text.status().code() == absl::StatusCode::kNotFound) return all;
  TACET_RETURN_IF_ERROR(text.status());
  std::string_view rest = *text;
  for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    absl::StatusOr<T> item = parse(rest.substr(0, end), all.size());
    if (!item.ok()) {
      return base::Annotate(item.status(),
                            fmt::format("{}, line {}", path.string(), all.size() + 1));
    }
    all.push_back(*std::move(item));
    rest.remove_prefix(end + 1);
  }
  return all;
}

absl::StatusOr<simulation::RoundRecord> NumberedRound(std::string_view line, size_t number) {
  TACET_ASSIGN_OR_RETURN(simulation::RoundRecord round, RoundOf(line));
  if (round.round == number) return round;
  return base::DataLoss("found round {} where round {} was expected", round.round, number);
}

absl::StatusOr<std::vector<simulation::RoundRecord>> ReadRounds(const std::filesystem::path& path) {
  return ReadLines<simulation::RoundRecord>(path, NumberedRound);
}

absl::StatusOr<secagg::AttemptNumber> BegunOf(std::string_view line, size_t /*number*/) {
  return storage::file::ParseAttempt(line);
}

absl::StatusOr<base::Bytes> StatementOf(std::string_view line, size_t /*number*/) {
  return base::FromHex(line);
}

using RefusedAttempt = std::pair<secagg::AttemptNumber, simulation::Refusal>;

// "epoch round attempt reason"
absl::StatusOr<RefusedAttempt> RefusedOf(std::string_view line, size_t /*number*/) {
  const size_t blank = line.rfind(' ');
  if (blank == std::string_view::npos) return base::DataLoss("the reason is missing");
  RefusedAttempt refused;
  TACET_ASSIGN_OR_RETURN(refused.first, storage::file::ParseAttempt(line.substr(0, blank)));
  TACET_ASSIGN_OR_RETURN(refused.second, simulation::ParseRefusal(line.substr(blank + 1)));
  return refused;
}

// Manifests under which attempts were charged, in their order; without a charge the one under which
// the member attested its model last.
std::vector<crypto::Digest> ManifestsOf(const RunRecord& run) {
  std::vector<crypto::Digest> hashes;
  if (!run.ledger.has_value()) return hashes;
  for (const ledger::LedgerEntry& entry : run.ledger->entries) {
    hashes.push_back(entry.label.manifest_hash);
  }
  if (!hashes.empty() || run.attestations.empty()) return hashes;
  const auto attested = protocol::ManifestOfAttestation(run.attestations.back());
  if (attested.ok()) hashes.push_back(*attested);
  return hashes;
}

absl::Status ReadManifests(RunRecord& run) {
  for (const crypto::Digest& hash : ManifestsOf(run)) {
    if (run.manifests.contains(hash)) continue;
    const std::filesystem::path path = run.path / ManifestFile(hash);
    const absl::StatusOr<std::string> text = ReadText(path, kMaxGrowingBytes);
    if (text.status().code() == absl::StatusCode::kNotFound) continue;
    TACET_RETURN_IF_ERROR(text.status());
    const auto bytes = base::AsBytes(*text);
    if (crypto::Sha256(bytes) != hash) {
      return base::DataLoss("{} does not hold the manifest that it is named after", path.string());
    }
    run.manifests.emplace(hash, base::Bytes(bytes.begin(), bytes.end()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<RunStart>> ReadStart(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const std::optional<JsonValue> value, ReadJsonFile(path, kMaxSmallBytes));
  if (!value.has_value()) return std::nullopt;
  RunStart start;
  base::JsonMembers members(*value);
  const JsonValue* samples = value->Find("samples");
  if (samples != nullptr && !samples->is_null()) {
    start.evaluation.emplace();
    members.Take("accuracy", start.evaluation->accuracy);
    members.Take("loss", start.evaluation->loss);
    members.Take("samples", start.evaluation->samples);
  }
  members.Take("commit", start.commit);
  std::string kind;
  members.Need("kind", kind);
  members.Need("processes", start.part.processes);
  members.Take("member", start.part.member);
  members.Take("audit_key", start.audit_key);
  if (!members.status().ok()) return base::Annotate(members.status(), path.string());
  const absl::StatusOr<tacet::audit::RunKind> parsed = tacet::audit::ParseRunKind(kind);
  if (!parsed.ok()) return base::Annotate(parsed.status(), path.string());
  start.part.kind = *parsed;
  return std::optional<RunStart>(std::move(start));
}

absl::StatusOr<std::optional<ledger::RecoveredLedger>> ReadLedger(
    const std::filesystem::path& path) {
  const absl::Status size = CheckSize(path, kMaxGrowingBytes);
  if (size.code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(size);
  TACET_ASSIGN_OR_RETURN(ledger::RecoveredLedger found, storage::file::LedgerFile::Read(path));
  return std::optional<ledger::RecoveredLedger>(std::move(found));
}

// Rounds and the ledger that they were charged to. A run that continues may complete a round
// between the two: then both are read again, so that the ledger has no charge of a round after the
// first that is not complete.
absl::Status ReadRoundsAndLedger(RunRecord& run) {
  constexpr int kMaxTries = 5;
  const std::filesystem::path metrics = run.path / kMetricsFile;
  TACET_ASSIGN_OR_RETURN(run.rounds, ReadRounds(metrics));
  for (int tries = 0; tries < kMaxTries; ++tries) {
    TACET_ASSIGN_OR_RETURN(run.ledger, ReadLedger(run.path / kLedgerFile));
    const size_t before = run.rounds.size();
    TACET_ASSIGN_OR_RETURN(run.rounds, ReadRounds(metrics));
    if (run.rounds.size() == before) return absl::OkStatus();
  }
  return base::Unavailable("{} grows faster than it can be read: try again later",
                           metrics.string());
}

// For a manifest that the run has kept.
absl::StatusOr<agreement::ManifestSpec> AgreedUnder(const RunRecord& run,
                                                    const crypto::Digest& manifest_hash) {
  return agreement::ReadManifestBytes(run.manifests.at(manifest_hash));
}

// For the last charge, or for the last attestation.
absl::StatusOr<agreement::ManifestSpec> LastAgreed(const RunRecord& run) {
  const std::vector<crypto::Digest> hashes = ManifestsOf(run);
  if (hashes.empty()) return base::FailedPrecondition("nothing was charged yet");
  const crypto::Digest& hash = hashes.back();
  if (run.manifests.contains(hash)) return AgreedUnder(run, hash);
  return base::FailedPrecondition("the run did not keep the manifest {}", ManifestFile(hash));
}

}  // namespace

absl::StatusOr<std::string> ReadText(const std::filesystem::path& path, uintmax_t most) {
  TACET_RETURN_IF_ERROR(CheckSize(path, most));
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, storage::file::ReadFile(path));
  return std::string(base::AsText(bytes));
}

absl::StatusOr<RunRecord> LoadRun(const std::filesystem::path& path) {
  RunRecord run;
  run.path = path;
  std::error_code error;
  std::filesystem::path whole = std::filesystem::weakly_canonical(path, error);
  if (error) whole = path;
  run.name = whole.filename().string();

  const std::filesystem::path settings = path / kConfigFile;
  absl::StatusOr<std::string> text = ReadText(settings, kMaxSmallBytes);
  if (!text.ok())
    return base::Annotate(text.status(), fmt::format("{} holds no run", path.string()));
  run.settings = *std::move(text);
  TACET_ASSIGN_OR_RETURN(run.config, config::ParseRunConfig(run.settings, settings.string()));
  const absl::StatusOr<simulation::SimulationSpec> spec = run::SimulationSpecOf(run.config);
  if (!spec.ok()) return base::Annotate(spec.status(), settings.string());
  run.labels = simulation::SimulationLabels(*spec);

  // First of all: what a finished run has written does not grow any more.
  TACET_ASSIGN_OR_RETURN(run.summary, ReadJsonFile(path / kSummaryFile, kMaxSummaryBytes));
  TACET_ASSIGN_OR_RETURN(run.start, ReadStart(path / kStartFile));
  // Read before the ledger, in which every one of them was charged before.
  TACET_ASSIGN_OR_RETURN(run.begun,
                         ReadLines<secagg::AttemptNumber>(path / kAttemptsFile, BegunOf));
  TACET_ASSIGN_OR_RETURN(run.attestations,
                         ReadLines<base::Bytes>(path / kAttestationsFile, StatementOf));
  TACET_ASSIGN_OR_RETURN(run.abstentions,
                         ReadLines<base::Bytes>(path / kAbstentionsFile, StatementOf));
  TACET_RETURN_IF_ERROR(ReadRoundsAndLedger(run));
  TACET_ASSIGN_OR_RETURN(run.refused, ReadLines<RefusedAttempt>(path / kRefusedFile, RefusedOf));
  TACET_RETURN_IF_ERROR(ReadManifests(run));
  return run;
}

absl::StatusOr<agreement::Manifest> ManifestOf(const RunRecord& run) {
  TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec, LastAgreed(run));
  return agreement::Manifest::Create(std::move(spec));
}

absl::StatusOr<std::vector<agreement::ChargedTerms>> TermsOf(const RunRecord& run) {
  TACET_ASSIGN_OR_RETURN(const agreement::ManifestSpec last, LastAgreed(run));
  if (run.ledger->entries.empty()) {
    TACET_ASSIGN_OR_RETURN(agreement::Manifest plan, agreement::Manifest::Create(last));
    return std::vector<agreement::ChargedTerms>{{.plan = std::move(plan), .attempts = 0}};
  }
  std::map<crypto::Digest, agreement::ManifestSpec> agreed;
  for (const ledger::LedgerEntry& entry : run.ledger->entries) {
    const crypto::Digest& hash = entry.label.manifest_hash;
    if (agreed.contains(hash)) continue;
    if (run.manifests.contains(hash)) {
      TACET_ASSIGN_OR_RETURN(agreed[hash], AgreedUnder(run, hash));
    } else if (run.start && run.start->part.kind == tacet::audit::RunKind::kMember) {
      return base::FailedPrecondition(
          "the run did not keep the manifest {}: start `tacet client run` in its home again, which "
          "writes it",
          ManifestFile(hash));
    } else {
      agreed[hash] = last;
    }
  }
  return ledger::TermsOfCharges(run.ledger->entries,
                                [&](const crypto::Digest& hash) { return &agreed.at(hash); });
}

absl::StatusOr<bool> IsModelOf(const RunRecord& run, const simulation::RoundRecord& round,
                               std::span<const float> model) {
  TACET_ASSIGN_OR_RETURN(
      const secagg::DigestKey key,
      storage::file::ReadDigestKey(run.path / storage::file::DigestKeyFile(round.model_epoch)));
  return round.model == key.OfModel(model);
}

uint64_t ChargedAttempts(const RunRecord& run) {
  uint64_t attempts = 0;
  if (run.ledger) {
    for (const ledger::LedgerEntry& entry : run.ledger->entries) attempts += entry.count;
  } else {
    for (const simulation::RoundRecord& round : run.rounds) attempts += round.attempts;
  }
  return attempts;
}

}  // namespace tacet::run
