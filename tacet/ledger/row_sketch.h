// Sketch of a population's rows: keyed digests of a part of them, by which a site is warned when
// two of its populations share rows. It decides nothing. With its key it confirms single records,
// so it never leaves the site (docs/formats/ledger.md).
#ifndef TACET_LEDGER_ROW_SKETCH_H_
#define TACET_LEDGER_ROW_SKETCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/secret.h"

namespace tacet::ledger {

inline constexpr size_t kSketchKeyBytes = 32;
// Digests below it are kept: one row in four, the same ones in every table.
inline constexpr uint64_t kSketchThreshold = uint64_t{1} << 62;
// Among them, at most the smallest so many.
inline constexpr size_t kMaxSketchRows = size_t{1} << 16;

class RowSketch {
 public:
  // The digests that count, of `digests` in any order.
  static RowSketch Of(std::vector<uint64_t> digests);

  // Ascending, each once.
  std::span<const uint64_t> digests() const { return digests_; }

  RowSketch With(const RowSketch& other) const;

  // The part of this sketch's rows that are in `other`, too, in [0, 1]; 0 for an empty sketch. Rows
  // beyond the largest digest of a full sketch cannot be in it and are not counted.
  double ShareIn(const RowSketch& other) const;

  friend bool operator==(const RowSketch&, const RowSketch&) = default;

 private:
  std::vector<uint64_t> digests_;
};

// Digests rows of tables. A row is the multiset of its texts that are not empty: neither the order
// nor the names of columns count, nor does the order of rows. Rows without a text have no digest.
class RowSketcher {
 public:
  // `key` has kSketchKeyBytes and must outlive the sketcher.
  explicit RowSketcher(const crypto::SecretBytes& key) : key_(key) {}

  void Add(std::span<const std::string> row);
  RowSketch Finish() { return RowSketch::Of(std::move(digests_)); }

 private:
  const crypto::SecretBytes& key_;
  std::vector<uint64_t> digests_;
  std::vector<std::string_view> texts_;
  base::Bytes bytes_;
};

base::Bytes WriteRowSketch(const RowSketch& sketch, const crypto::SecretBytes& key);
// DataLoss says which field is wrong; FailedPrecondition for a sketch under another key.
absl::StatusOr<RowSketch> ReadRowSketch(std::span<const uint8_t> bytes,
                                        const crypto::SecretBytes& key);

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_ROW_SKETCH_H_
