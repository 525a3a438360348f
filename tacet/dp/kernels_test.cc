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

#include "tacet/base/kernel_versions_for_test.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/clip.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/poisson_trial.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {
namespace {

template <typename T>
bool SameBytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

constexpr base::Target kTargets[] = {base::Target::kNeon, base::Target::kAvx2,
                                     base::Target::kAvx512};

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
      EXPECT_NE(other->poisson_first, kernels->poisson_first);
      EXPECT_NE(other->poisson_second, kernels->poisson_second);
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
  for (const double rate : {10.0, 10.5, 15.5, 60.0, 192.0, 1000.0, 8192.0, 4e4, 1e7, 2.1e9}) {
    cases.push_back(std::vector<double>(30011, rate));
  }
  // Rates from far below 1 to above 2^31, with defective ones between.
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

// The tests alone on trials that random draws hardly reach: normal draws out to their bound and at
// the edges of cells, uniform words at the ends of their range and next to the acceptance,
// defective rates, every length of the last group.
TEST_P(KernelsTest, PoissonTestsAtTheEdgesOfTheirTrials) {
  crypto::Random random = crypto::SeededRandom(1, "pick");
  const auto unit = [&] { return static_cast<double>(random.NextU64() >> 11) * 0x1p-53; };
  const double bound = GaussianBound(GaussianSampler::kDefault);
  size_t open = 0;
  size_t words = 0;
  for (size_t round = 0; round < 200; ++round) {
    const size_t size = 1024 - round % 35;
    std::vector<double> rates(size), normals(size);
    std::vector<uint32_t> chances(size);
    bool small = false;
    for (size_t i = 0; i < size; ++i) {
      rates[i] = round % 3 == 0 ? 26277 + 100 * unit() : 10 * std::exp(19.1 * unit());
      normals[i] = bound * (2 * unit() - 1);
      if (i % 5 == 0) normals[i] /= 10;
      if (i % 7 == 0) {
        const double width = static_cast<double>(PoissonRoot(rates[i])) + kPoissonWidening;
        normals[i] = std::round(width * normals[i]) / width;
      }
      const double k = std::max(0.0, PoissonCandidate(rates[i], normals[i]));
      const double log_p = PoissonLogAcceptance(rates[i], k, normals[i]);
      const double p = std::exp(std::clamp(log_p, -40.0, -1e-6));
      const uint32_t edges[] = {0,
                                1,
                                255,
                                256,
                                ~uint32_t{0},
                                static_cast<uint32_t>(p * 0x1p32),
                                static_cast<uint32_t>(p * 0x1p32) + 300};
      chances[i] = i % 2 == 0 ? static_cast<uint32_t>(random.NextU64()) : edges[random.Below(7)];
      if (round % 10 == 9 && i % 97 == 0) {
        rates[i] = i % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : 3.5;
        small = true;
      }
    }
    const PoissonTrials trials = {
        .rates = rates.data(), .normals = normals.data(), .chances = chances.data(), .size = size};
    std::vector<uint32_t> expected(size), counts(size);
    std::vector<uint8_t> expected_bits(128), bits(128);
    EXPECT_EQ(ScalarKernels().poisson_first(trials, expected.data(), expected_bits.data()), small);
    EXPECT_EQ(Tested().poisson_first(trials, counts.data(), bits.data()), small);
    for (size_t i = 0; i < size; ++i) {
      // For a negative candidate only that it is not taken.
      if (PoissonCandidate(TrialRate(rates[i]), normals[i]) < 0) continue;
      EXPECT_EQ(expected[i], counts[i]) << rates[i] << " " << normals[i];
    }
    EXPECT_EQ(expected_bits, bits) << size;
    for (const uint8_t byte : bits) open += static_cast<size_t>(std::popcount(byte));

    crypto::Random a = crypto::SeededRandom(round, "exact");
    crypto::Random b = crypto::SeededRandom(round, "exact");
    crypto::Random untouched = crypto::SeededRandom(round, "exact");
    std::fill(expected_bits.begin(), expected_bits.end(), uint8_t{0});
    std::fill(bits.begin(), bits.end(), uint8_t{0});
    ScalarKernels().poisson_second(trials, a, expected_bits.data());
    Tested().poisson_second(trials, b, bits.data());
    EXPECT_EQ(expected_bits, bits) << size;
    const uint64_t next = a.NextU64();
    EXPECT_EQ(next, b.NextU64());
    words += next != untouched.NextU64() ? 1 : 0;
  }
  EXPECT_GT(open, size_t{10000});
  EXPECT_EQ(words, size_t{200});
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
