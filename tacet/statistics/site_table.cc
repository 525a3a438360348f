#include "tacet/statistics/site_table.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "tacet/base/bytes.h"

namespace tacet::statistics {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 16;

// Bytes for a digest, never many of them at once.
class DigestWriter {
 public:
  base::ByteWriter& bytes() {
    if (bytes_.bytes().size() >= kPieceBytes) Flush();
    return bytes_;
  }
  void Text(std::string_view text) { bytes().Blob(base::AsBytes(text)); }
  crypto::Digest Finish() {
    Flush();
    return hasher_.Finish();
  }

 private:
  void Flush() {
    hasher_.Update(bytes_.bytes());
    bytes_ = base::ByteWriter();
  }

  base::ByteWriter bytes_;
  crypto::Sha256Hasher hasher_;
};

void AddColumn(const table::Column& column, DigestWriter& digest) {
  digest.bytes().U8(column.is_numbers() ? 0 : 1);
  if (column.is_numbers()) {
    for (size_t row = 0; row < column.rows(); ++row) {
      const double number = column.number(row);
      digest.bytes().U64(std::bit_cast<uint64_t>(
          std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number));
    }
    return;
  }
  digest.bytes().U64(column.distinct());
  for (uint32_t code = 0; code < column.distinct(); ++code) digest.Text(column.text(code));
  for (size_t row = 0; row < column.rows(); ++row) digest.bytes().U32(column.code(row));
}

}  // namespace

crypto::Digest TablesDigest(const std::vector<SiteTable>& tables) {
  DigestWriter digest;
  digest.bytes().U64(tables.size());
  for (const SiteTable& table : tables) {
    digest.Text(table.name);
    digest.bytes().U64(table.columns.size());
    for (const std::string& name : table.columns) digest.Text(name);
    digest.bytes().U64(table.rows);
    for (const table::Column& column : table.cells) AddColumn(column, digest);
  }
  return digest.Finish();
}

std::optional<size_t> SiteTable::Find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column);
  if (found == columns.end()) return std::nullopt;
  return static_cast<size_t>(found - columns.begin());
}

std::optional<double> NumberOf(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !IsOrdinary(value)) {
    return std::nullopt;
  }
  return value;
}

bool IsOrdinary(double number) { return std::abs(number) <= std::numeric_limits<float>::max(); }

}  // namespace tacet::statistics
