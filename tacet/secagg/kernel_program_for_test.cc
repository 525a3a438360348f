// Runs one kernel of the chosen instruction set (TACET_SIMD) a number of times, so that
// tools/kernel_instructions.sh can count its instructions:
//   tacet_kernel_program KERNEL TIMES
// The inputs are the same on every processor.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/poisson.h"
#include "tacet/he/sum_kernels.h"
#include "tacet/ring/aligned.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/modulus.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"

namespace {

using namespace tacet;  // NOLINT

constexpr size_t kN = ring::kCompactDegree;
constexpr size_t kValues = 2048;

// Words of a linear congruential generator (Knuth's MMIX).
uint64_t NextWord() {
  static uint64_t word = 1;
  return word = word * 6364136223846793005u + 1442695040888963407u;
}

ring::AlignedWords Residues(size_t size) {
  ring::AlignedWords values(size);
  for (uint64_t& value : values) value = NextWord() % ring::kPrime1;
  return values;
}

// A polynomial that is sealed: four slots of 22 bits.
struct Sealing {
  void operator()() {
    ring::ActiveKernels().seal(
        {.product = {.tables = {&factors[0].ntt().tables(), &factors[1].ntt().tables()},
                     .a_ntt = {a.data(), a.data() + kN},
                     .k_factors = {factors[0].factors(), factors[1].factors()},
                     .scratch = scratch.data()},
         .error_words = errors.data(),
         .counts = counts,
         .layout = {.slots = 4, .slot_bits = 22, .scale_bits = 12},
         .shift = 0,
         .used = kN,
         .planes = planes.data()});
  }

  ring::AlignedWords a = Residues(2 * kN), scratch = ring::AlignedWords(ring::ScratchWords(kN)),
                     errors = Residues(kN);
  std::array<ring::Multiplier, 2> factors = {
      ring::Multiplier(std::span<const uint64_t>(a).first(kN), ring::CompactNtt(0)),
      ring::Multiplier(std::span<const uint64_t>(a).last(kN), ring::CompactNtt(1))};
  std::vector<uint32_t> counts = std::vector<uint32_t>(4 * kN, 26277);
  base::Bytes planes = base::Bytes(12 * kN);
};

// Four uploads that are added to a sum.
struct Adding {
  void operator()() {
    std::array<const uint8_t*, he::kAddedAtOnce> places;
    for (uint8_t const*& place : places) place = words.data();
    he::ActiveSumKernels().add_words(places.data(), places.size(), sums.size(), sums.data(),
                                     of.data());
  }

  base::Bytes words = base::Bytes(12 * kN);
  std::vector<uint64_t> sums = std::vector<uint64_t>(3 * kN);
  std::array<he::WordSums, he::kAddedAtOnce> of;
};

// Four rows of counts that are authenticated.
struct Authenticating {
  void operator()() {
    std::array<const uint32_t*, he::kRowsAtOnce> rows;
    for (uint32_t const*& row : rows) row = counts.data();
    he::ActiveSumKernels().limb_products(limbs.data(), kN, rows.data(), rows.size(), kN,
                                         products.data());
  }

  std::vector<uint32_t> limbs = std::vector<uint32_t>(he::kLimbs * kN, 1),
                        counts = std::vector<uint32_t>(kN, 26277);
  std::array<he::LimbProducts, he::kRowsAtOnce> products;
};

// Pairs of uniform words that become normal draws.
struct DrawingNormals {
  DrawingNormals() {
    for (double& word : words) word = std::bit_cast<double>(NextWord());
  }
  void operator()() {
    std::copy(words.begin(), words.end(), block.begin());
    dp::ActiveKernels().box_muller(false, random, block.data(), kValues / 2);
  }

  crypto::SystemEntropy entropy;
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<double> words = std::vector<double>(kValues), block = words;
};

// First tests of Poisson draws.
struct DrawingCounts {
  DrawingCounts() {
    for (uint32_t& chance : chances) chance = static_cast<uint32_t>(NextWord() >> 32);
  }
  void operator()() {
    std::vector<uint8_t> open(kValues / 8);
    dp::ActiveKernels().poisson_first({.rates = rates.data(),
                                       .normals = normals.data(),
                                       .chances = chances.data(),
                                       .size = kValues},
                                      counts.data(), open.data());
  }

  std::vector<double> rates = std::vector<double>(kValues, 26277),
                      normals = std::vector<double>(kValues, 0.5);
  std::vector<uint32_t> chances = std::vector<uint32_t>(kValues),
                        counts = std::vector<uint32_t>(kValues);
};

// Values of an update that are scaled and clamped.
struct Clipping {
  void operator()() {
    dp::ActiveKernels().scale_and_clamp(update.data(), 0.5, 0.1f, clipped.data(), kValues);
  }

  std::vector<float> update = std::vector<float>(kValues, 0.001f),
                     clipped = std::vector<float>(kValues);
};

template <typename Kernel>
void Run(int times) {
  Kernel kernel;
  for (int i = 0; i < times; ++i) kernel();
}

void RunTransform(int times) {
  ring::AlignedWords values = Residues(kN);
  for (int i = 0; i < times; ++i) ring::CompactNtt(0).Forward(values);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(int)>> kernels = {{"transform", RunTransform},
                                                                   {"seal", Run<Sealing>},
                                                                   {"add", Run<Adding>},
                                                                   {"mac", Run<Authenticating>},
                                                                   {"normals", Run<DrawingNormals>},
                                                                   {"counts", Run<DrawingCounts>},
                                                                   {"clip", Run<Clipping>}};
  const auto kernel = kernels.find(argc == 3 ? argv[1] : "");
  if (kernel == kernels.end()) {
    std::cerr << "usage: tacet_kernel_program KERNEL TIMES, with a kernel of:";
    for (const auto& [name, run] : kernels) std::cerr << " " << name;
    std::cerr << "\n";
    return 2;
  }
  kernel->second(std::atoi(argv[2]));
  return 0;
}
