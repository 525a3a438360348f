// The vector loops of the mechanism, of adding and of the MAC against their scalar oracles. The
// input:
//   byte 0: number of values (0..255), bytes 1..8: clip norm and coordinate bound as exponents;
// the rest, repeated, are the bytes of updates (any float), uniform words, rates, uploads and keys.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fuzz/byte_source.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/clip.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/poisson.h"
#include "tacet/he/sum_kernels.h"

namespace {

using namespace tacet;

struct Inputs {
  double clip_norm = 1;
  double bound = 1;
  std::vector<float> update;
  std::vector<uint64_t> words;  // an even number
  std::vector<double> rates;
  std::array<std::vector<uint8_t>, he::kAddedAtOnce> uploads;
  std::vector<uint32_t> limbs, counts;
  uint64_t seed = 0;
};

// Everything that came out, as bytes.
struct Outputs {
  std::vector<uint8_t> bytes;
  template <typename T>
  void Take(const T* values, size_t count) {
    const auto* first = reinterpret_cast<const uint8_t*>(values);
    bytes.insert(bytes.end(), first, first + count * sizeof(T));
  }
};

crypto::Random SeededRandom(uint64_t seed) {
  crypto::InsecureSeededEntropy entropy(seed, "kernels");
  return crypto::Random::FromEntropy(entropy);
}

Outputs RunMechanism(const dp::Kernels& kernels, const Inputs& in) {
  Outputs out;
  std::vector<float> clipped(in.update.size());
  const dp::ClipReport report =
      dp::ClipAndClamp(in.update, in.clip_norm, in.bound, clipped, kernels);
  out.Take(clipped.data(), clipped.size());
  out.Take(&report.norm, 1);

  // Words at will, some of which ask for a second one; then the sampler's own.
  crypto::Random random = SeededRandom(in.seed);
  std::vector<double> block(in.words.size());
  if (!in.words.empty()) std::memcpy(block.data(), in.words.data(), 8 * in.words.size());
  kernels.box_muller(true, random, block.data(), block.size() / 2);
  out.Take(block.data(), block.size());
  dp::FillGaussian(dp::GaussianSampler::kDefault, random, block, kernels);
  out.Take(block.data(), block.size());

  std::vector<uint32_t> draws(in.rates.size());
  dp::PoissonSampler(random, kernels).Fill(in.rates, draws);
  out.Take(draws.data(), draws.size());
  const uint64_t next = random.NextU64();  // as many words were used
  out.Take(&next, 1);
  return out;
}

Outputs RunSums(const he::SumKernels& kernels, const Inputs& in) {
  Outputs out;
  const size_t words = in.uploads[0].size() / 4;
  std::vector<uint64_t> sums(words, in.seed);
  std::array<const uint8_t*, he::kAddedAtOnce> places;
  for (size_t u = 0; u < places.size(); ++u) places[u] = in.uploads[u].data();
  for (size_t count = 1; count <= places.size(); ++count) {
    std::array<he::WordSums, he::kAddedAtOnce> of{};
    kernels.add_words(places.data(), count, words, sums.data(), of.data());
    out.Take(of.data(), of.size());
  }
  out.Take(sums.data(), sums.size());
  const uint32_t largest = kernels.largest_word(places[0], words);
  out.Take(&largest, 1);

  std::array<he::LimbProducts, he::kRowsAtOnce> products{};
  const size_t size = in.counts.size() / he::kRowsAtOnce;
  std::array<const uint32_t*, he::kRowsAtOnce> rows;
  for (size_t r = 0; r < rows.size(); ++r) rows[r] = in.counts.data() + r * size;
  kernels.limb_products(in.limbs.data(), size, rows.data(), rows.size(), size, products.data());
  for (const he::LimbProducts& product : products) out.Take(product.data(), product.size());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::array<uint8_t, 9> head{};
  if (size > 0) std::memcpy(head.data(), data, std::min(size, head.size()));
  fuzz::ByteSource source(data + std::min(size, head.size()), size - std::min(size, head.size()));
  const size_t count = head[0];
  Inputs in;
  in.clip_norm = std::ldexp(1.0, head[1] % 64 - 32);
  in.bound = std::ldexp(1.0, head[2] % 64 - 32);
  in.seed = head[3];
  for (size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<uint32_t>(source.Next());
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    in.update.push_back(value);
    in.rates.push_back(static_cast<double>(source.Next() >> 11) * std::ldexp(1.0, -head[4] % 64));
    if (in.rates.back() >= dp::kPoissonMaxRate) in.rates.back() = dp::kPoissonMaxRate / 3;
  }
  in.words.resize(2 * (count / 2 + 1));
  for (uint64_t& word : in.words) word = source.Next();
  for (auto& upload : in.uploads) {
    upload.resize(4 * count);
    for (uint8_t& byte : upload) byte = static_cast<uint8_t>(source.Next());
  }
  in.limbs.resize(he::kLimbs * count);
  for (uint32_t& limb : in.limbs) {
    limb = static_cast<uint32_t>(source.Next()) & ((1u << he::kLimbBits) - 1);
  }
  in.counts.resize(he::kRowsAtOnce * count);
  for (uint32_t& value : in.counts) value = static_cast<uint32_t>(source.Next());

  const Outputs mechanism = RunMechanism(dp::ScalarKernels(), in);
  for (const dp::Kernels* kernels : dp::AvailableKernels()) {
    if (RunMechanism(*kernels, in).bytes != mechanism.bytes) std::abort();
  }
  const Outputs sums = RunSums(he::ScalarSumKernels(), in);
  for (const he::SumKernels* kernels : he::AvailableSumKernels()) {
    if (RunSums(*kernels, in).bytes != sums.bytes) std::abort();
  }
  return 0;
}
