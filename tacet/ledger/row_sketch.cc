#include "tacet/ledger/row_sketch.h"

#include <algorithm>
#include <iterator>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"

namespace tacet::ledger {
namespace {

// Tells a sketch under one key from one under another.
crypto::Digest KeyCheck(const crypto::SecretBytes& key) {
  return crypto::HmacSha256(key, {base::AsBytes("tacet/1/row sketch")});
}

// Writes length and text from `out` on; returns the end.
uint8_t* WriteText(std::string_view text, uint8_t* out) {
  const auto size = static_cast<uint32_t>(text.size());
  for (int shift = 0; shift < 32; shift += 8) *out++ = static_cast<uint8_t>(size >> shift);
  return std::ranges::copy(text, out).out;
}

}  // namespace

RowSketch RowSketch::Of(std::vector<uint64_t> digests) {
  std::erase_if(digests, [](uint64_t digest) { return digest >= kSketchThreshold; });
  std::ranges::sort(digests);
  digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
  if (digests.size() > kMaxSketchRows) digests.resize(kMaxSketchRows);
  RowSketch sketch;
  sketch.digests_ = std::move(digests);
  return sketch;
}

RowSketch RowSketch::With(const RowSketch& other) const {
  std::vector<uint64_t> all = digests_;
  all.insert(all.end(), other.digests_.begin(), other.digests_.end());
  return Of(std::move(all));
}

double RowSketch::ShareIn(const RowSketch& other) const {
  std::span<const uint64_t> comparable = digests_;
  if (other.digests_.size() == kMaxSketchRows) {
    const auto end = std::ranges::upper_bound(digests_, other.digests_.back());
    comparable = comparable.first(static_cast<size_t>(end - digests_.begin()));
  }
  if (comparable.empty()) return 0;
  std::vector<uint64_t> shared;
  std::ranges::set_intersection(comparable, other.digests_, std::back_inserter(shared));
  return static_cast<double>(shared.size()) / static_cast<double>(comparable.size());
}

void RowSketcher::Add(std::span<const std::string> row) {
  texts_.clear();
  size_t size = 0;
  for (const std::string& text : row) {
    if (text.empty()) continue;
    texts_.push_back(text);
    size += sizeof(uint32_t) + text.size();
  }
  if (texts_.empty()) return;
  std::ranges::sort(texts_);
  bytes_.resize(std::max(bytes_.size(), size));
  uint8_t* end = bytes_.data();
  for (const std::string_view text : texts_) end = WriteText(text, end);
  const uint64_t digest = crypto::KeyedHash64(key_, std::span(bytes_).first(size));
  if (digest < kSketchThreshold) digests_.push_back(digest);
}

base::Bytes WriteRowSketch(const RowSketch& sketch, const crypto::SecretBytes& key) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kRowSketch, writer);
  writer.Raw(KeyCheck(key));
  writer.U32(static_cast<uint32_t>(sketch.digests().size()));
  for (const uint64_t digest : sketch.digests()) writer.U64(digest);
  writer.Raw(crypto::Sha256(writer.bytes()));
  return writer.Take();
}

absl::StatusOr<RowSketch> ReadRowSketch(std::span<const uint8_t> bytes,
                                        const crypto::SecretBytes& key) {
  base::ByteReader reader(bytes, "sketch of rows");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kRowSketch, reader));
  TACET_ASSIGN_OR_RETURN(const auto check, reader.ReadBytes(sizeof(crypto::Digest), "key check"));
  if (!std::ranges::equal(check, KeyCheck(key))) {
    return base::FailedPrecondition("sketch of rows: it was made under another key");
  }
  TACET_ASSIGN_OR_RETURN(const uint32_t count, reader.ReadU32("count"));
  if (count > kMaxSketchRows) {
    return base::DataLoss("sketch of rows: field `count` is {}, at most {} are kept", count,
                          kMaxSketchRows);
  }
  std::vector<uint64_t> digests;
  for (uint32_t i = 0; i < count; ++i) {
    TACET_ASSIGN_OR_RETURN(const uint64_t digest, reader.ReadU64("digests"));
    if (digest >= kSketchThreshold || (!digests.empty() && digest <= digests.back())) {
      return base::DataLoss("sketch of rows: digest {} is out of order or range", i);
    }
    digests.push_back(digest);
  }
  const crypto::Digest digest = crypto::Sha256(bytes.first(bytes.size() - reader.remaining()));
  TACET_RETURN_IF_ERROR(reader.Expect(digest, "digest"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return RowSketch::Of(std::move(digests));
}

}  // namespace tacet::ledger
