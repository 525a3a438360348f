// Loading of a data set: from a path to a Dataset.
#ifndef TACET_DATA_LOAD_H_
#define TACET_DATA_LOAD_H_

#include <filesystem>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/data/csv.h"
#include "tacet/data/dataset.h"

namespace tacet::data {

// Recognises what `path` is:
// - a folder with images-idx3-ubyte, labels-idx1-ubyte and writers-idx1-int or clients-idx1-int,
//   each plain or with .gz (docs/formats/datasets.md): LoadIdxFolder;
// - a file ending in .json, or a folder with such files: LoadLeaf;
// - a file ending in .csv, .tsv or .data, or a folder with such files: LoadCsv with `csv`.
// NotFound or InvalidArgument otherwise; every error names the file.
absl::StatusOr<Dataset> LoadDataset(const std::filesystem::path& path, const CsvOptions& csv = {},
                                    table::ProblemSummary* unreadable = nullptr);

// The same for a folder of IDX files only. Classes = the largest label + 1.
absl::StatusOr<Dataset> LoadIdxFolder(const std::filesystem::path& folder);

// The files that LoadDataset reads from `path`; none where it would find no data set. Errors of
// DataFiles.
absl::StatusOr<std::vector<std::filesystem::path>> FilesOfDataset(
    const std::filesystem::path& path);

// True when `path` is a folder that holds images in the IDX layout (it may still be malformed).
bool HoldsIdxImages(const std::filesystem::path& path);

}  // namespace tacet::data

#endif  // TACET_DATA_LOAD_H_
