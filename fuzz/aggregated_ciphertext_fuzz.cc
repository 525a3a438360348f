// Aggregated ciphertexts given to a decryptor. The first byte chooses scheme (low two bits) and how
// the rest is read, the second is the claimed number of participants: with the first one's top bit
// the rest is the aggregated ciphertext itself, otherwise patches of an honest one, four bytes
// each: a 24-bit position and the byte to be put there. Bit 6 cuts the patched sum at the last
// patch's position.
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tacet/crypto/random.h"
#include "tacet/he/aggregation.h"

namespace {

using tacet::base::Bytes;
using namespace tacet::he;

constexpr Tag kTag{{1, kTagPrime - 1, uint64_t{1} << 40}};

struct Honest {
  explicit Honest(Scheme scheme) : params(Params(scheme)) {
    tacet::crypto::InsecureSeededEntropy entropy(1, "aggregated ciphertext fuzz");
    const auto seed = entropy.Draw(32);
    const auto group_secret = entropy.Draw(32);
    const bool compact = scheme == Scheme::kCompact;
    const auto encryptor = compact ? *NewCompactEncryptor(params, seed.Expose())
                                   : *NewPaperEncryptor(params, seed.Expose(), group_secret);
    const auto adder = NewAdder(params);
    Bytes ciphertext;
    const std::vector<uint16_t> masks(params.mask_words(), 30000);
    for (int i = 0; i < 2; ++i) {
      const auto key = entropy.Draw(32);
      if (!encryptor
               ->Encrypt(std::vector<uint32_t>(5, 1000), kTag, {.key = key, .masks = masks},
                         ciphertext)
               .ok() ||
          !adder->Add(ciphertext).ok()) {
        std::abort();
      }
    }
    aggregated_ciphertext = adder->Close();
    decryptor = compact ? *NewCompactDecryptor(params, seed.Expose(), KeySum())
                        : *NewPaperDecryptor(params, group_secret);
  }
  // For the honest aggregated ciphertext: every seat answers that its masks add up to 60000.
  tacet::crypto::SecretVector<int32_t> KeySum() const {
    const std::vector<uint16_t> mask_sums(params.sharing().mask_words(), 60000);
    std::vector<KeySharing::Answer> answers;
    for (uint32_t seat = 0; seat < params.committee().seats; ++seat) {
      answers.push_back({.seat = seat, .mask_sums = mask_sums});
    }
    return std::move(
        params.sharing()
            .Recover(std::span(aggregated_ciphertext).last(params.share_bytes()), answers)
            ->key_sum);
  }
  static AggregationParams Params(Scheme scheme) {
    return *AggregationParams::Create({.scheme = scheme,
                                       .dimension = 5,
                                       .max_participants = 3,
                                       .offset = 1000,
                                       .sum_bound = 3000});
  }
  AggregationParams params;
  Bytes aggregated_ciphertext;
  std::unique_ptr<Decryptor> decryptor;
};

const Honest& HonestOf(unsigned choice) {
  static const Honest all[] = {Honest(Scheme::kCompact), Honest(Scheme::kPaperPublicKey),
                               Honest(Scheme::kPaperSecretKey)};
  return all[choice % 3];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const Honest& honest = HonestOf(data[0] & 3u);
  Bytes aggregated_ciphertext(data + 2, data + size);
  bool altered = true;
  if ((data[0] & 0x80) == 0) {
    aggregated_ciphertext = honest.aggregated_ciphertext;
    size_t position = aggregated_ciphertext.size();
    for (size_t i = 2; i + 4 <= size; i += 4) {
      position = (data[i] | size_t{data[i + 1]} << 8 | size_t{data[i + 2]} << 16) %
                 aggregated_ciphertext.size();
      aggregated_ciphertext[position] = data[i + 3];
    }
    if ((data[0] & 0x40) != 0) aggregated_ciphertext.resize(position);
    altered = aggregated_ciphertext != honest.aggregated_ciphertext;
  }
  const uint32_t participants = data[1];
  const auto decrypted = honest.decryptor->Decrypt(aggregated_ciphertext, participants);
  if (decrypted.ok()) {
    if (decrypted->sums.size() != 5 || participants < 1 || participants > 3) std::abort();
    for (const uint64_t word : decrypted->tag.words) {
      if (word >= kTagPrime) std::abort();
    }
  }
  if (!altered && participants == 2 &&
      (!decrypted.ok() || decrypted->sums != std::vector<uint64_t>(5, 2000) ||
       decrypted->tag.words != AddTags(kTag, kTag).words)) {
    std::abort();
  }
  return 0;
}
