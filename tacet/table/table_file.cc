#include "tacet/table/table_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tacet/base/status.h"

namespace tacet::table {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 32;

using FileTime = std::filesystem::file_time_type;

// Time of the last change; none where nobody can tell.
std::optional<FileTime> ChangeOf(const std::filesystem::path& path) {
  std::error_code error;
  const FileTime time = std::filesystem::last_write_time(path, error);
  return error ? std::nullopt : std::optional(time);
}

class FileSource final : public TextSource {
 public:
  FileSource(std::filesystem::path path, uint64_t bytes, FileTime changed)
      : path_(std::move(path)), left_(bytes), changed_(changed), in_(path_, std::ios::binary) {}

  std::optional<size_t> Read(std::span<char> piece) override {
    in_.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto read = static_cast<uint64_t>(in_.gcount());
    const bool ends = read < piece.size();
    if (read > left_ || (ends && read < left_)) return std::nullopt;
    left_ -= read;
    if (ends && ChangeOf(path_) != changed_) return std::nullopt;
    return read;
  }

 private:
  std::filesystem::path path_;
  uint64_t left_;
  FileTime changed_;
  std::ifstream in_;
};

}  // namespace

absl::StatusOr<TableFile> TableFile::Open(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return base::InvalidArgument("{}: this is a folder, expected a file", path.string());
  }
  const std::optional<FileTime> changed = ChangeOf(path);
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (bytes < 0 || !changed.has_value()) {
    return base::NotFound("{}: the file cannot be read", path.string());
  }
  TableFile file;
  file.path_ = path;
  file.bytes_ = static_cast<uint64_t>(bytes);
  file.changed_ = *changed;
  if (file.bytes_ > kMaxFileBytes) {
    return base::InvalidArgument("{}: {} bytes, at most {} are read", path.string(), bytes,
                                 kMaxFileBytes);
  }
  std::array<char, 4> beginning{};
  in.seekg(0);
  in.read(beginning.data(), beginning.size());
  file.utf16_ = Utf16OrderOf({beginning.data(), static_cast<size_t>(in.gcount())});
  const std::unique_ptr<TextSource> source = file.Source();
  EncodingCheck check;
  std::vector<char> window(TableRecords::kPieceBytes);
  size_t kept = 0;
  for (bool is_last = false; !is_last && !(check.is_wrong() && check.has_line_feed());) {
    const std::optional<size_t> read = source->Read(std::span(window).subspan(kept));
    if (!read.has_value()) {
      return base::DataLoss("{}: the file cannot be read to its end, or it changed meanwhile",
                            path.string());
    }
    is_last = *read < window.size() - kept;
    const std::string_view text(window.data(), kept + *read);
    const size_t done = check.Take(text, is_last);
    kept = text.size() - done;
    std::ranges::copy(text.substr(done), window.begin());
  }
  file.has_line_feed_ = check.has_line_feed();
  file.problem_ = check.Problem(path.string());
  return file;
}

std::unique_ptr<TextSource> TableFile::Source() const {
  auto bytes = std::make_unique<FileSource>(path_, bytes_, changed_);
  if (!utf16_.has_value()) return bytes;
  return std::make_unique<Utf16Source>(std::move(bytes), *utf16_);
}

TableRecords TableFile::Records() const { return TableRecords(Source(), has_line_feed_); }

}  // namespace tacet::table
