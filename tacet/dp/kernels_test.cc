// Every instruction set draws what the scalar oracle draws, bit by bit.
#include "tacet/dp/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/testing/kernel_versions.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/clip.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {
namespace {

template <typename T>
bool SameBytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

constexpr base::Target kTargets[] = {base::Target::kAvx2, base::Target::kAvx512};

class KernelsTest : public base::KernelVersionTest<Kernels, AvailableKernels> {};

TEST(KernelSetsTest, EveryVersionOfTheProcessorIsItsOwn) {
  const auto available = AvailableKernels();
  base::ExpectVersions(available, {std::begin(kTargets), std::end(kTargets)});
  EXPECT_EQ(available.front(), &ScalarKernels());
  EXPECT_THAT(available, ::testing::Contains(&ActiveKernels()));
  for (const Kernels* kernels : available) {
    for (const Kernels* other : available) {
      if (other == kernels) continue;
      EXPECT_NE(other->box_muller, kernels->box_muller);
      EXPECT_NE(other->add_noise, kernels->add_noise);
      EXPECT_NE(other->scale_and_shift, kernels->scale_and_shift);
      EXPECT_NE(other->sum_of_squares, kernels->sum_of_squares);
      EXPECT_NE(other->scale_and_clamp, kernels->scale_and_clamp);
      EXPECT_NE(other->poisson_propose, kernels->poisson_propose);
      EXPECT_NE(other->poisson_decide, kernels->poisson_decide);
    }
  }
}

TEST_P(KernelsTest, GaussianOfEveryLength) {
  for (const GaussianSampler sampler : {GaussianSampler::kDefault, GaussianSampler::kBoxMuller}) {
    for (const size_t size : {0, 1, 2, 7, 15, 16, 17, 33, 2047, 2048, 2049, 400001}) {
      std::vector<double> expected(size), values(size);
      crypto::Random a = crypto::SeededRandom(1, "gaussian");
      crypto::Random b = crypto::SeededRandom(1, "gaussian");
      FillGaussian(sampler, a, expected, ScalarKernels());
      FillGaussian(sampler, b, values, Tested());
      EXPECT_TRUE(SameBytes(expected, values)) << size;
      EXPECT_EQ(a.NextU64(), b.NextU64());
    }
  }
}

// Words at the ends of their range, where the logarithm and the circle change pieces; many lanes
// at once need a second word.
TEST_P(KernelsTest, GaussianAtTheEdgesOfItsWords) {
  std::vector<uint64_t> edges = {0,           1, 2, 5, kWholeWord - 1, kWholeWord, kWholeWord + 1,
                                 ~uint64_t{0}};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    edges.insert(edges.end(), {power, power - 1, power + 1, 0 - power});
  }
  // U around 2^-n/sqrt 2, where Log moves to the next exponent.
  for (int n = 0; n < 11; ++n) {
    const uint64_t root = 0xb504f333f9de6484ULL >> n;
    for (uint64_t offset = 0; offset < 4096; offset += 256) edges.push_back(root - 2048 + offset);
  }
  for (const bool wide : {true, false}) {
    std::vector<uint64_t> words;
    for (size_t i = 0; i < edges.size(); ++i) {
      for (size_t j = 0; j < edges.size(); j += 3) {
        words.push_back(edges[i]);
        words.push_back(edges[(i + j) % edges.size()]);
      }
    }
    std::vector<double> expected(words.size()), values(words.size());
    std::memcpy(expected.data(), words.data(), words.size() * sizeof(double));
    std::memcpy(values.data(), words.data(), words.size() * sizeof(double));
    crypto::Random a = crypto::SeededRandom(1, "edges");
    crypto::Random b = crypto::SeededRandom(1, "edges");
    ScalarKernels().box_muller(wide, a, expected.data(), words.size() / 2);
    Tested().box_muller(wide, b, values.data(), words.size() / 2);
    EXPECT_TRUE(SameBytes(expected, values)) << wide;
    EXPECT_EQ(a.NextU64(), b.NextU64());
  }
}

TEST_P(KernelsTest, PoissonAtManyRates) {
  crypto::Random random = crypto::SeededRandom(1, "rates");
  std::vector<std::vector<double>> cases;
  // Rates of the mechanism, and constants on both sides of every border.
  std::vector<double> rates(300000);
  FillGaussian(GaussianSampler::kDefault, random, rates);
  for (double& rate : rates) rate = 26277.4 + 1897.4 * rate;
  cases.push_back(rates);
  for (const double rate : {10.0, 15.5, 191.9, 192.0, 1000.0, 8191.0, 8192.0, 4e4, 1e7, 2.1e9}) {
    cases.push_back(std::vector<double>(30011, rate));
  }
  // From far below 1 to above 2^31, with defective ones between.
  rates.clear();
  for (int i = 0; i < 50000; ++i) rates.push_back(0.1 * std::pow(1.0005, i));
  for (size_t i = 17; i < rates.size(); i += 97) {
    rates[i] = i % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : -rates[i];
  }
  rates.push_back(std::numeric_limits<double>::infinity());
  cases.push_back(rates);
  for (const size_t size : {0, 1, 3, 8, 9, 1023, 1024, 1025, 3001}) {
    cases.push_back(std::vector<double>(size, 20000.0));
  }
  for (const std::vector<double>& list : cases) {
    std::vector<uint32_t> expected(list.size()), counts(list.size());
    crypto::Random a = crypto::SeededRandom(1, "poisson");
    crypto::Random b = crypto::SeededRandom(1, "poisson");
    PoissonSampler(a, ScalarKernels()).Fill(list, expected);
    PoissonSampler(b, Tested()).Fill(list, counts);
    EXPECT_TRUE(SameBytes(expected, counts)) << list.size();
    EXPECT_EQ(a.NextU64(), b.NextU64());
  }
}

// The acceptance test alone on words that random draws hardly reach: borders of the three parts,
// centres of the strip (t near 0), second words that have to be extended.
TEST_P(KernelsTest, PoissonAtTheEdgesOfItsWords) {
  std::vector<uint64_t> edges = {~uint64_t{0}};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    edges.insert(edges.end(), {power, 0 - power});
  }
  // v_r = 1/3, 4/5, 8/9 of the range, times 1, 0.86 and 0.93, and around.
  for (const double height : {1.0 / 3, 0.8, 8.0 / 9}) {
    for (const double part : {0.43, 0.86, 0.93, 1.0}) {
      const uint64_t centre = static_cast<uint64_t>(height * part * 0x1p64);
      for (int bit = 0; bit < 60; bit += 3) {
        edges.insert(edges.end(), {centre + (uint64_t{1} << bit), centre - (uint64_t{1} << bit)});
      }
    }
  }
  constexpr size_t size = 1024;
  struct Arrays {
    std::vector<double> rates, again;
    std::vector<uint64_t> indexes, words, again_indexes;
    std::vector<uint32_t> counts;
    PoissonCandidates open, rejected;
    Arrays()
        : rates(size + kPoissonPadding),
          again(size + kPoissonPadding),
          indexes(size + kPoissonPadding),
          words(size + kPoissonPadding),
          again_indexes(size + kPoissonPadding),
          counts(size + kPoissonPadding),
          open{rates.data(), indexes.data(), words.data()},
          rejected{again.data(), again_indexes.data(), nullptr} {}
  };
  crypto::Random random = crypto::SeededRandom(1, "pick");
  size_t undecided = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<double> rates(size + kPoissonPadding);
    std::vector<uint64_t> indexes(size + kPoissonPadding), first(indexes), second(indexes);
    for (size_t i = 0; i < rates.size(); ++i) {
      rates[i] = 10 * std::exp(19.1 * static_cast<double>(random.NextU64() >> 11) * 0x1p-53);
      if (round % 3 == 0) rates[i] = 26277 + static_cast<double>(random.Below(100));
      indexes[i] = i;
      first[i] = edges[random.Below(edges.size())];
      second[i] = i % 3 == 0 ? random.NextU64() : edges[random.Below(edges.size())];
    }
    Arrays expected, found;
    crypto::Random a = crypto::SeededRandom(1, "poisson");
    crypto::Random b = crypto::SeededRandom(1, "poisson");
    const Kernels& oracle = ScalarKernels();
    const Kernels& kernels = Tested();
    const size_t n = round == 0 ? size : size - random.Below(20);
    const PoissonProposed want = oracle.poisson_propose(rates.data(), indexes.data(), first.data(),
                                                        n, expected.counts.data(), expected.open);
    const PoissonProposed have = kernels.poisson_propose(rates.data(), indexes.data(), first.data(),
                                                         n, found.counts.data(), found.open);
    ASSERT_EQ(want.undecided, have.undecided);
    ASSERT_EQ(want.small, have.small);
    undecided += want.undecided;
    std::vector<bool> is_open(size);
    for (size_t i = 0; i < want.undecided; ++i) {
      EXPECT_EQ(expected.rates[i], found.rates[i]);
      EXPECT_EQ(expected.indexes[i], found.indexes[i]);
      EXPECT_EQ(expected.words[i], found.words[i]);
      is_open[expected.indexes[i]] = true;
    }
    for (size_t i = 0; i < n; ++i) {
      if (is_open[i]) continue;
      EXPECT_EQ(expected.counts[i], found.counts[i]) << i;
    }
    const size_t m = want.undecided;
    const size_t wanted = oracle.poisson_decide(expected.open, second.data(), m, a,
                                                expected.counts.data(), expected.rejected);
    const size_t got = kernels.poisson_decide(found.open, second.data(), m, b, found.counts.data(),
                                              found.rejected);
    ASSERT_EQ(wanted, got);
    for (size_t i = 0; i < wanted; ++i) {
      EXPECT_EQ(expected.again[i], found.again[i]);
      EXPECT_EQ(expected.again_indexes[i], found.again_indexes[i]);
      is_open[expected.again_indexes[i]] = false;
    }
    for (size_t i = 0; i < n; ++i) {
      if (!is_open[i]) continue;
      EXPECT_EQ(expected.counts[i], found.counts[i]) << i;
    }
    EXPECT_EQ(a.NextU64(), b.NextU64());
  }
  EXPECT_GT(undecided, size_t{10000});
}

TEST_P(KernelsTest, ClippingAndAffineMaps) {
  crypto::Random random = crypto::SeededRandom(1, "clip");
  for (const size_t size : {0, 1, 5, 8, 31, 32, 33, 67, 4099}) {
    std::vector<double> noise(size);
    FillGaussian(GaussianSampler::kDefault, random, noise);
    std::vector<float> update(size);
    for (size_t i = 0; i < size; ++i) {
      update[i] = static_cast<float>(noise[i] * std::exp(3 * noise[size - 1 - i]));
    }
    if (size > 5) {
      update[3] = -0.0f;
      update[4] = std::numeric_limits<float>::denorm_min();
    }
    for (const double norm : {1e-3, 1.0, 1e9}) {
      for (const double bound : {1e-60, 0.01, 5.0}) {
        std::vector<float> expected(size), clipped(size);
        const ClipReport want = ClipAndClamp(update, norm, bound, expected, ScalarKernels());
        const ClipReport have = ClipAndClamp(update, norm, bound, clipped, Tested());
        EXPECT_EQ(want.norm, have.norm);
        EXPECT_EQ(want.clipped, have.clipped);
        EXPECT_TRUE(SameBytes(expected, clipped)) << size << " " << norm << " " << bound;
      }
    }
    std::vector<double> expected = noise;
    std::vector<double> values = noise;
    ScalarKernels().add_noise(update.data(), 0.19, expected.data(), size);
    Tested().add_noise(update.data(), 0.19, values.data(), size);
    EXPECT_TRUE(SameBytes(expected, values));
    ScalarKernels().scale_and_shift(1e4, 26277, expected.data(), size);
    Tested().scale_and_shift(1e4, 26277, values.data(), size);
    EXPECT_TRUE(SameBytes(expected, values));
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelsTest, ::testing::ValuesIn(kTargets), base::NameOfTarget);

}  // namespace
}  // namespace tacet::dp
