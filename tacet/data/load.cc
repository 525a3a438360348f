#include "tacet/data/load.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/data/idx.h"
#include "tacet/data/leaf.h"

namespace tacet::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kImages = "images-idx3-ubyte";
constexpr std::string_view kLabels = "labels-idx1-ubyte";
constexpr std::string_view kWriters = "writers-idx1-int";
constexpr std::string_view kClients = "clients-idx1-int";

std::optional<fs::path> FindFile(const fs::path& folder, std::string_view stem) {
  for (const std::string_view suffix : {"", ".gz"}) {
    fs::path path = folder / (std::string(stem) + std::string(suffix));
    std::error_code error;
    if (fs::is_regular_file(path, error)) return path;
  }
  return std::nullopt;
}

absl::Status Missing(const fs::path& folder, std::string_view stem) {
  return base::NotFound("{}: the folder has no {} or {}.gz", folder.string(), stem, stem);
}

absl::Status CheckCount(const fs::path& path, uint64_t count, uint64_t images) {
  if (count == images) return absl::OkStatus();
  return base::InvalidArgument("{}: {} entries, but there are {} images", path.string(), count,
                               images);
}

}  // namespace

bool HoldsIdxImages(const fs::path& path) { return FindFile(path, kImages).has_value(); }

absl::StatusOr<Dataset> LoadIdxFolder(const fs::path& folder) {
  const std::optional<fs::path> images_path = FindFile(folder, kImages);
  if (!images_path.has_value()) return Missing(folder, kImages);
  const std::optional<fs::path> labels_path = FindFile(folder, kLabels);
  if (!labels_path.has_value()) return Missing(folder, kLabels);
  std::optional<fs::path> clients_path = FindFile(folder, kWriters);
  if (!clients_path.has_value()) clients_path = FindFile(folder, kClients);
  if (!clients_path.has_value()) {
    return base::NotFound("{}: the folder has no {} or {} (plain or .gz): who owns which image?",
                          folder.string(), kWriters, kClients);
  }

  // The small files first: a mistake in them shows before the images are read.
  TACET_ASSIGN_OR_RETURN(IdxArray labels, ReadIdxFile(*labels_path, IdxType::kU8, 1));
  TACET_ASSIGN_OR_RETURN(const IdxArray clients, ReadIdxFile(*clients_path, IdxType::kI32, 1));
  TACET_ASSIGN_OR_RETURN(IdxArray images, ReadIdxFile(*images_path, IdxType::kU8, 3));
  const uint64_t count = images.sizes[0];
  TACET_RETURN_IF_ERROR(CheckCount(*labels_path, labels.sizes[0], count));
  TACET_RETURN_IF_ERROR(CheckCount(*clients_path, clients.sizes[0], count));
  if (count == 0) return base::InvalidArgument("{}: there are no images", images_path->string());

  DatasetSpec spec;
  spec.name = folder.string();
  spec.input_shape = {images.sizes[1], images.sizes[2]};
  spec.features = std::move(images.bytes);
  spec.labels.assign(labels.bytes.begin(), labels.bytes.end());
  spec.classes = *std::ranges::max_element(spec.labels) + 1;
  spec.sample_clients.reserve(count);
  std::unordered_map<int32_t, uint32_t> known;
  for (uint64_t i = 0; i < count; ++i) {
    const int32_t id = clients.Int32(i);
    const auto [entry, fresh] = known.try_emplace(id, static_cast<uint32_t>(known.size()));
    if (fresh) spec.client_names.push_back(std::to_string(id));
    spec.sample_clients.push_back(entry->second);
  }
  return Dataset::Create(std::move(spec));
}

absl::StatusOr<std::vector<fs::path>> FilesOfDataset(const fs::path& path) {
  if (HoldsIdxImages(path)) {
    std::vector<fs::path> files;
    for (const std::string_view stem : {kImages, kLabels, kWriters, kClients}) {
      if (std::optional<fs::path> file = FindFile(path, stem)) files.push_back(*std::move(file));
    }
    return files;
  }
  return HoldsLeaf(path) ? LeafFiles(path) : CsvFiles(path);
}

absl::StatusOr<Dataset> LoadDataset(const fs::path& path, const CsvOptions& csv,
                                    table::ProblemSummary* unreadable) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return base::NotFound("{}: no such file or folder", path.string());
  const bool folder = fs::is_directory(status);
  if (folder && HoldsIdxImages(path)) return LoadIdxFolder(path);
  if (HoldsLeaf(path)) return LoadLeaf(path);
  if (HoldsCsv(path)) return LoadCsv(path, csv, unreadable);
  if (HoldsWorkbook(path)) return NoCsvFile(path);
  if (folder) return LoadIdxFolder(path);  // which says what is missing
  return base::InvalidArgument(
      "{}: not a data set: expected a folder of IDX files, or files ending in .csv, .tsv, .data or "
      ".json (LEAF)",
      path.string());
}

}  // namespace tacet::data
