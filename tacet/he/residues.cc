#include "tacet/he/residues.h"

#include "tacet/base/status.h"
#include "tacet/ring/words.h"

namespace tacet::he {

absl::Status ReadResidues(base::ByteReader& reader, std::string_view field, uint64_t prime,
                          std::span<uint64_t> residues) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, reader.ReadBytes(8 * residues.size(), field));
  for (size_t i = 0; i < residues.size(); ++i) {
    residues[i] = ring::LoadWord64(bytes.data() + 8 * i);
    if (residues[i] >= prime) {
      return base::DataLoss("closed sum: field `{}` is not canonical: word {} is not below {}",
                            field, i, prime);
    }
  }
  return absl::OkStatus();
}

}  // namespace tacet::he
