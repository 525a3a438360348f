#include "apps/tacet/attack/attacked_run.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "apps/tacet/simulate/configured_learner.h"
#include "apps/tacet/simulate/training_run.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/site_config.h"
#include "tacet/data/split.h"
#include "tacet/ledger/data_digest.h"
#include "tacet/run/run_output.h"
#include "tacet/storage/file/data_key.h"

namespace tacet::app::attack {
namespace {

using accounting::Unit;
using data::Dataset;
using storage::file::RunDirectory;

absl::StatusOr<run::RunRecord> FinishedRun(const RunDirectory& directory) {
  TACET_ASSIGN_OR_RETURN(run::RunRecord record, run::LoadRun(directory.path()));
  if (record.finished()) return record;
  return base::NotFound(
      "{} holds no finished run: {} is missing (tacet simulate --resume brings a run to its end)",
      directory.path().string(), run::kSummaryFile);
}

// The samples' clients and persons with their row numbers in the place of features: sent through
// the steps that arrange a run's data, they tell where every row went.
absl::StatusOr<Dataset> RowNumbers(const Dataset& dataset) {
  constexpr uint64_t kExactFloats = uint64_t{1} << 24;
  data::DatasetSpec spec{.name = dataset.name(),
                         .input_shape = {2},
                         .features = {},
                         .labels = dataset.labels(),
                         .sample_clients = std::vector<uint32_t>(dataset.samples()),
                         .client_names = {},
                         .classes = dataset.classes(),
                         .sample_persons = {}};
  for (uint64_t client = 0; client < dataset.clients(); ++client) {
    spec.client_names.push_back(dataset.client_name(client));
    for (const uint32_t row : dataset.rows(client)) {
      spec.sample_clients[row] = static_cast<uint32_t>(client);
    }
  }
  std::vector<float> numbers;
  for (uint64_t row = 0; row < dataset.samples(); ++row) {
    numbers.push_back(static_cast<float>(row / kExactFloats));
    numbers.push_back(static_cast<float>(row % kExactFloats));
    if (dataset.has_persons()) spec.sample_persons.push_back(dataset.person(row));
  }
  spec.features = std::move(numbers);
  return Dataset::Create(std::move(spec));
}

uint64_t RowNumber(const Dataset& numbers, uint64_t row) {
  float parts[2];
  numbers.CopyInput(row, parts);
  return (static_cast<uint64_t>(parts[0]) << 24) + static_cast<uint64_t>(parts[1]);
}

// A simulation's key lies in its directory, a live site's in the folder around it.
absl::StatusOr<crypto::SecretBytes> DataKeyOf(const RunDirectory& directory) {
  const std::filesystem::path path = std::filesystem::absolute(directory.path());
  absl::StatusOr<crypto::SecretBytes> key =
      storage::file::ReadDataKey(path / storage::file::kDataKeyFile);
  if (key.status().code() != absl::StatusCode::kNotFound) return key;
  absl::StatusOr<crypto::SecretBytes> around =
      storage::file::ReadDataKey(path.parent_path() / storage::file::kDataKeyFile);
  if (around.status().code() != absl::StatusCode::kNotFound) return around;
  return base::FailedPrecondition(
      "{} is missing: without it nobody can tell whether the data are those of the run",
      (path / storage::file::kDataKeyFile).string());
}

absl::Status CheckData(const run::RunRecord& run, const Dataset& all,
                       const crypto::SecretBytes& key) {
  TACET_ASSIGN_OR_RETURN(const Dataset arranged, config::ArrangeRunData(run.config, all));
  const std::filesystem::path digest = run.path / storage::file::kDataDigestFile;
  std::error_code error;
  if (!std::filesystem::exists(digest, error)) {
    return base::NotFound("{} is missing: nobody can tell whether the data are those of the run",
                          digest.string());
  }
  TACET_ASSIGN_OR_RETURN(const bool same,
                         storage::file::AreDataOfRun(digest, key, data::DatasetDigest(arranged)));
  if (same) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} holds other data than the run in {} was trained on: --data names where they lie now",
      all.name(), run.path.string());
}

// At most `most` of `all`, spread evenly; all of them for 0.
template <typename T>
std::vector<T> Spread(std::vector<T> all, uint64_t most) {
  if (most == 0 || most >= all.size()) return all;
  std::vector<T> chosen;
  for (uint64_t i = 0; i < most; ++i) chosen.push_back(all[i * all.size() / most]);
  return chosen;
}

// A candidate by its rows in the whole data set.
struct Group {
  std::vector<uint32_t> rows;
  uint64_t stratum = 0;
};

std::string NobodyLeftOut(Unit unit) {
  return unit == Unit::kRecord
             ? std::string("no sample was held out: data.held_out was 0")
             : fmt::format(
                   "no {} was left out of the federation: a run with data.clients below the number "
                   "of clients in the data set leaves some out (the test on records is possible)",
                   accounting::UnitName(unit));
}

// `members` and `others` with their samples copied out of `all`.
absl::StatusOr<Candidates> Gather(Unit unit, const Dataset& all, const std::vector<Group>& members,
                                  const std::vector<Group>& others) {
  std::map<uint64_t, std::vector<uint32_t>> by_client;
  std::vector<uint32_t> client_of(all.samples());
  for (uint64_t client = 0; client < all.clients(); ++client) {
    for (const uint32_t row : all.rows(client)) client_of[row] = static_cast<uint32_t>(client);
  }
  for (const auto* kind : {&members, &others}) {
    for (const Group& group : *kind) {
      for (const uint32_t row : group.rows) by_client[client_of[row]].push_back(row);
    }
  }
  std::vector<data::ChosenRows> chosen;
  std::map<uint32_t, uint32_t> new_rows;
  for (auto& [client, rows] : by_client) {
    std::ranges::sort(rows);
    for (const uint32_t row : rows) {
      new_rows.emplace(row, static_cast<uint32_t>(new_rows.size()));
    }
    chosen.push_back({client, std::move(rows)});
  }
  TACET_ASSIGN_OR_RETURN(Dataset data, data::SelectRows(all, chosen, all.name()));
  Candidates candidates{
      .unit = unit, .data = std::move(data), .rows = {}, .is_member = {}, .stratum = {}};
  const auto add = [&](const std::vector<Group>& groups, bool is_member) {
    for (const Group& group : groups) {
      std::vector<uint32_t>& rows = candidates.rows.emplace_back();
      for (const uint32_t row : group.rows) rows.push_back(new_rows.at(row));
      candidates.is_member.push_back(is_member);
      candidates.stratum.push_back(group.stratum);
    }
  };
  add(members, true);
  add(others, false);
  return candidates;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunDirectory>> OpenAttackedDirectory(const std::string& path) {
  absl::StatusOr<std::unique_ptr<RunDirectory>> directory = RunDirectory::Open(path);
  if (directory.status().code() != absl::StatusCode::kNotFound) return directory;
  return base::NotFound("{} is not the directory of a run", path);
}

uint64_t Candidates::members() const {
  return static_cast<uint64_t>(std::ranges::count(is_member, true));
}

absl::StatusOr<AttackedRun> AttackedRun::Open(const RunDirectory& directory,
                                              const std::optional<std::string>& data) {
  TACET_ASSIGN_OR_RETURN(run::RunRecord record, FinishedRun(directory));
  TACET_ASSIGN_OR_RETURN(agreement::Manifest manifest, run::ManifestOf(record));
  config::RunConfig& config = record.config;
  if (config::IsExternal(config)) {
    return base::InvalidArgument(
        "{} is the run of an external model: tacet cannot apply it to rows, so it cannot attack it",
        record.path.string());
  }
  if (data.has_value()) config.data.path = *data;
  config::RunConfig whole = config;
  whole.data.clients = whole.data.sites = 0;
  table::ProblemSummary unreadable;  // the run's program told them
  absl::StatusOr<Dataset> all = config::LoadAllData(whole, &unreadable);
  if (!all.ok()) {
    return base::Annotate(all.status(), "the run's data (--data names where they lie now)");
  }
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes key, DataKeyOf(directory));
  TACET_RETURN_IF_ERROR(CheckData(record, *all, key));
  TACET_ASSIGN_OR_RETURN(const training::LearnerSpec learner, simulate::LearnerSpecOf(config));
  TACET_ASSIGN_OR_RETURN(models::Architecture architecture,
                         models::Architecture::Create({.model = learner.model,
                                                       .input_shape = all->input_shape(),
                                                       .hidden = learner.hidden,
                                                       .classes = all->classes()}));
  AttackedRun run(std::move(record), std::move(manifest), std::move(key), *std::move(all),
                  std::move(architecture));
  TACET_RETURN_IF_ERROR(run.ReadModel(directory));
  TACET_RETURN_IF_ERROR(run.FollowRows());
  return run;
}

crypto::Digest AttackedRun::KeyedDigest(const Dataset& data) const {
  return ledger::KeyedDataDigest(data_key_, ledger::kAttackDigest, data::DatasetDigest(data));
}

absl::Status AttackedRun::ReadModel(const RunDirectory& directory) {
  const absl::StatusOr<base::Bytes> bytes = directory.ReadFile(run::kModelFile);
  if (!bytes.ok()) {
    return base::NotFound("{} holds no trained model: {} is missing", directory.path().string(),
                          run::kModelFile);
  }
  model_.resize(architecture_.dimension());
  if (bytes->size() != model_.size() * sizeof(float)) {
    return base::DataLoss("{} has {} bytes, a model of {} parameters has {}",
                          (directory.path() / run::kModelFile).string(), bytes->size(),
                          model_.size(), model_.size() * sizeof(float));
  }
  std::memcpy(model_.data(), bytes->data(), bytes->size());
  return absl::OkStatus();
}

absl::Status AttackedRun::FollowRows() {
  TACET_ASSIGN_OR_RETURN(Dataset numbers, RowNumbers(all_));
  TACET_ASSIGN_OR_RETURN(const Dataset arranged,
                         config::ArrangeRunData(record_.config, std::move(numbers)));
  const data::Split split(arranged, record_.config.run.seed, record_.config.data.held_out,
                          record_.config.agreement.privacy.unit);
  fates_.assign(all_.samples(), Fate::kLeftOut);
  for (uint64_t row = 0; row < arranged.samples(); ++row) {
    fates_[RowNumber(arranged, row)] = Fate::kHeldOut;
  }
  for (uint64_t client = 0; client < arranged.clients(); ++client) {
    for (const uint32_t row : split.training_rows(client)) {
      fates_[RowNumber(arranged, row)] = Fate::kTrained;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Candidates> AttackedRun::CandidatesOf(Unit unit, uint64_t clients) const {
  if (unit == Unit::kClient && record_.config.data.sites != 0) {
    return base::FailedPrecondition(
        "the run's clients are {} sites among which data.sites spread all clients: no site was "
        "left "
        "out (tests on persons and on records are possible)",
        record_.config.data.sites);
  }
  const bool by_column = unit == Unit::kPerson && record_.config.data.sites == 0;
  if (by_column && !all_.has_persons()) {
    return base::FailedPrecondition("{} does not say which person a sample is from", all_.name());
  }
  // A member trains on nine tenths of it, say; the same share of those who were left out is
  // attacked. A person trains with all rows or with none.
  const Unit of_run = record_.config.agreement.privacy.unit;
  const data::Split split(all_, record_.config.run.seed,
                          of_run == Unit::kPerson ? 0 : record_.config.data.held_out, of_run);
  std::vector<bool> would_train(all_.samples(), false);
  std::map<uint64_t, std::vector<uint32_t>> groups;  // by client or person
  for (uint64_t client = 0; client < all_.clients(); ++client) {
    for (const uint32_t row : split.training_rows(client)) would_train[row] = true;
    for (const uint32_t row : all_.rows(client)) {
      if (!all_.is_readable(row)) continue;
      groups[by_column ? all_.person(row) : client].push_back(row);
    }
  }
  std::vector<Group> members, others;
  if (unit == Unit::kRecord) {
    std::vector<std::pair<uint64_t, std::vector<uint32_t>>> inside;
    for (auto& [key, rows] : groups) {
      if (fates_[rows.front()] != Fate::kLeftOut) inside.emplace_back(key, std::move(rows));
    }
    for (const auto& [key, rows] : Spread(std::move(inside), clients)) {
      for (const uint32_t row : rows) {
        (fates_[row] == Fate::kTrained ? members : others).push_back({{row}, key});
      }
    }
  } else {
    for (const auto& [key, rows] : groups) {
      Group trained, left_out;
      for (const uint32_t row : rows) {
        if (fates_[row] == Fate::kTrained) trained.rows.push_back(row);
        if (fates_[row] == Fate::kLeftOut && would_train[row]) left_out.rows.push_back(row);
      }
      if (!trained.rows.empty()) {
        members.push_back(std::move(trained));
      } else if (!left_out.rows.empty()) {
        others.push_back(std::move(left_out));
      }
    }
    members = Spread(std::move(members), clients);
    others = Spread(std::move(others), clients);
  }
  if (others.empty()) return base::FailedPrecondition("{}", NobodyLeftOut(unit));
  if (members.empty()) return base::FailedPrecondition("the run trained on no sample");
  return Gather(unit, all_, members, others);
}

}  // namespace tacet::app::attack
