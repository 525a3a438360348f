#include "tacet/he/aggregated_ciphertext.h"

#include <string_view>
#include <vector>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/residues.h"
#include "tacet/ring/modulus.h"
#include "tacet/ring/words.h"

namespace tacet::he {
namespace {

// Words of an aggregated ciphertext that are residues of one prime, in their order.
struct Field {
  std::string_view name;
  size_t prime;  // its index
  uint64_t words;
};

// docs/formats/ciphertext.md, "Aggregated ciphertext".
absl::StatusOr<std::vector<Field>> FieldsOf(const AggregationParams& params) {
  std::vector<Field> fields;
  if (params.scheme() != Scheme::kCompact) {
    fields.push_back(
        {.name = "sum", .prime = 0, .words = params.aggregated_ciphertext_bytes() / 8});
    return fields;
  }
  const auto add = [&fields](std::string_view name, uint64_t words) {
    for (size_t prime = 0; prime < 2; ++prime) fields.push_back({name, prime, words});
  };
  for (uint64_t j = 0; j < params.polynomials(); ++j) add("payload", UsedCoefficients(params, j));
  add("payload", kTagWords);
  return fields;
}

}  // namespace

absl::Status AddAggregatedCiphertext(const AggregationParams& params,
                                     std::span<const uint8_t> addend, std::span<uint8_t> sum) {
  TACET_RETURN_IF_ERROR(CheckAggregatedCiphertext(params, addend.size(), 1));
  TACET_RETURN_IF_ERROR(CheckAggregatedCiphertext(params, sum.size(), 1));
  TACET_ASSIGN_OR_RETURN(const std::vector<Field> fields, FieldsOf(params));
  base::ByteReader reader(addend, "aggregated ciphertext");
  for (const Field& field : fields) {
    TACET_RETURN_IF_ERROR(
        ReadResidues(reader, field.name, ring::kPrimes[field.prime], field.words).status());
  }
  TACET_ASSIGN_OR_RETURN(const auto shares, reader.ReadBytes(params.share_bytes(), "shares"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  if (const auto bad = KeySharing::FindNonCanonical(shares); bad.has_value()) {
    return base::DataLoss(
        "aggregated ciphertext: field `shares` is not canonical: word {} is not below {}", *bad,
        kSharePrime);
  }
  AddShares(shares, sum.last(shares.size()));
  size_t at = 0;
  for (const Field& field : fields) {
    const ring::Modulus& modulus = ring::kModuli[field.prime];
    for (const size_t end = at + 8 * field.words; at < end; at += 8) {
      ring::StoreWord64(
          modulus.Add(ring::LoadWord64(sum.data() + at), ring::LoadWord64(addend.data() + at)),
          sum.data() + at);
    }
  }
  return absl::OkStatus();
}

}  // namespace tacet::he
