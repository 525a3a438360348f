// Ciphertexts given to an adder. The first byte chooses scheme (low two bits) and how the rest is
// read: with the top bit as the ciphertext itself, otherwise as patches of an honest one, four
// bytes each: a 24-bit position and the byte to be put there. Bit 6 cuts the patched ciphertext at
// the last patch's position.
#include <cstdlib>
#include <vector>

#include "tacet/crypto/random.h"
#include "tacet/he/aggregation.h"

namespace {

using tacet::base::Bytes;
using namespace tacet::he;

constexpr Tag kTag{{1, kTagPrime - 1, uint64_t{1} << 40}};

struct Honest {
  explicit Honest(Scheme scheme) : params(Params(scheme)) {
    tacet::crypto::InsecureSeededEntropy entropy(1, "ciphertext fuzz");
    const auto seed = entropy.Draw(32);
    const auto encryptor = scheme == Scheme::kCompact
                               ? *NewCompactEncryptor(params, seed.Expose())
                               : *NewPaperEncryptor(params, seed.Expose(), entropy.Draw(32));
    const std::vector<uint16_t> masks(params.mask_words(), 40000);
    const auto key = entropy.Draw(32);
    if (!encryptor
             ->Encrypt(std::vector<uint32_t>(5, 1000), kTag, {.key = key, .masks = masks},
                       ciphertext)
             .ok()) {
      std::abort();
    }
  }
  static AggregationParams Params(Scheme scheme) {
    return *AggregationParams::Create({.scheme = scheme,
                                       .dimension = 5,
                                       .max_participants = 3,
                                       .offset = 1000,
                                       .sum_bound = 3000});
  }
  AggregationParams params;
  Bytes ciphertext;
};

const Honest& HonestOf(unsigned choice) {
  static const Honest all[] = {Honest(Scheme::kCompact), Honest(Scheme::kPaperPublicKey),
                               Honest(Scheme::kPaperSecretKey)};
  return all[choice % 3];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const Honest& honest = HonestOf(data[0] & 3u);
  Bytes ciphertext(data + 1, data + size);
  if ((data[0] & 0x80) == 0) {
    ciphertext = honest.ciphertext;
    size_t position = ciphertext.size();
    for (size_t i = 1; i + 4 <= size; i += 4) {
      position = (data[i] | size_t{data[i + 1]} << 8 | size_t{data[i + 2]} << 16) %
                 honest.ciphertext.size();
      ciphertext[position] = data[i + 3];
    }
    if ((data[0] & 0x40) != 0) ciphertext.resize(position);
  }
  const auto adder = NewAdder(honest.params);
  if (!adder->Add(honest.ciphertext).ok()) std::abort();
  const Bytes before = adder->Close();
  const bool added = adder->Add(ciphertext).ok();
  if (adder->count() != (added ? 2u : 1u)) std::abort();
  if (!added && adder->Close() != before) std::abort();
  if (added && ciphertext.size() != honest.params.ciphertext_bytes()) std::abort();
  return 0;
}
