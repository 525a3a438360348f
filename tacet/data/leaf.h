// LEAF's JSON (Caldas et al. 2018): samples grouped by user.
#ifndef TACET_DATA_LEAF_H_
#define TACET_DATA_LEAF_H_

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/data/dataset.h"

namespace tacet::data {

// Reads any number of LEAF documents with inputs of one length into one data set:
//   {"users": [name, ...], "num_samples": [n, ...],
//    "user_data": {name: {"x": [[number, ...], ...], "y": [class, ...]}, ...}}
// Other members are skipped. A user is a client; one that is in several documents is one client.
class LeafReader {
 public:
  LeafReader();
  ~LeafReader();

  // `name` stands for the file in messages. InvalidArgument names line (from 1) and column (bytes,
  // from 1) of what is malformed, not a finite number, not a class from 0 to 2^20 - 1 or of another
  // length than the samples before it; or the user whose x, y and num_samples disagree, who is not
  // among `users`, or who has no data. Nothing announces a length: memory stays below 64 bytes for
  // each byte of text. The reader is of no further use after an error.
  absl::Status Add(std::string_view text, std::string_view name);

  // Everything that was added, under this name; classes = the largest label + 1. A square number of
  // inputs, 16 or more, is an image.
  absl::StatusOr<Dataset> Finish(std::string_view name);

 private:
  class Parser;
  struct State;

  std::unique_ptr<State> state_;
};

// A file ending in .json, or all such files of a folder in the order of their names; each up to
// 4 GiB. NotFound when there is none.
absl::StatusOr<Dataset> LoadLeaf(const std::filesystem::path& path);
// Those files, errors of DataFiles; whether there is one.
absl::StatusOr<std::vector<std::filesystem::path>> LeafFiles(const std::filesystem::path& path);
bool HoldsLeaf(const std::filesystem::path& path);

}  // namespace tacet::data

#endif  // TACET_DATA_LEAF_H_
