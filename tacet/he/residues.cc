#include "tacet/he/residues.h"

#include <cstring>

#include "tacet/base/status.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/words.h"

namespace tacet::he {

absl::StatusOr<std::span<const uint8_t>> ReadResidues(base::ByteReader& reader,
                                                      std::string_view field, uint64_t prime,
                                                      size_t count) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, reader.ReadBytes(8 * count, field));
  if (ring::ActiveKernels().all_below(prime, bytes.data(), count)) return bytes;
  size_t bad = 0;
  while (ring::LoadWord64(bytes.data() + 8 * bad) < prime) ++bad;
  return base::DataLoss(
      "aggregated ciphertext: field `{}` is not canonical: word {} is not below {}", field, bad,
      prime);
}

absl::StatusOr<ring::AlignedWords> ReadResidueWords(base::ByteReader& reader,
                                                    std::string_view field, uint64_t prime,
                                                    size_t count) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, ReadResidues(reader, field, prime, count));
  ring::AlignedWords words(count);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

}  // namespace tacet::he
