// File with a table. It is read twice, in pieces: for its encoding, then for its records.
#ifndef TACET_TABLE_TABLE_FILE_H_
#define TACET_TABLE_TABLE_FILE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"

#include "tacet/table/table_problem.h"
#include "tacet/table/table_text.h"
#include "tacet/table/utf16_text.h"

namespace tacet::table {

class TableFile {
 public:
  // Reads the file once, up to 4 GiB. NotFound when it cannot be opened, InvalidArgument for a
  // folder or a larger file, DataLoss when it ends early.
  static absl::StatusOr<TableFile> Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // The fault of a file that holds neither UTF-8 alone nor UTF-16 behind a byte order mark. Its
  // records mean nothing then, unless the fault is one of a row: then the fields of other rows are
  // right.
  const std::optional<TableProblem>& encoding_problem() const { return problem_; }
  // The records, from the beginning; unreadable at their end where the file changed since Open.
  TableRecords Records() const;

 private:
  TableFile() = default;

  std::unique_ptr<TextSource> Source() const;

  std::filesystem::path path_;
  uint64_t bytes_ = 0;
  std::filesystem::file_time_type changed_;
  std::optional<ByteOrder> utf16_;  // none: UTF-8
  bool has_line_feed_ = false;
  std::optional<TableProblem> problem_;
};

}  // namespace tacet::table

#endif  // TACET_TABLE_TABLE_FILE_H_
