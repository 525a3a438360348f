// Every instruction set gives the bytes of the scalar oracle.
#include "tacet/ring/kernels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/kernel_versions_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"

namespace tacet::ring {
namespace {

constexpr base::Target kTargets[] = {base::Target::kNeon, base::Target::kAvx2,
                                     base::Target::kAvx512, base::Target::kAvx512Ifma};

class KernelsTest : public base::KernelVersionTest<Kernels, AvailableKernels> {};

TEST(KernelSetsTest, EveryVersionOfTheProcessorIsItsOwn) {
  const auto available = AvailableKernels();
  base::ExpectVersions(available, {std::begin(kTargets), std::end(kTargets)});
  EXPECT_EQ(available.front(), &ScalarKernels());
  EXPECT_THAT(available, testing::Contains(&ActiveKernels()));
  for (const Kernels* kernels : available) {
    for (const Kernels* other : available) {
      if (other == kernels) continue;
      EXPECT_NE(other->make_factors, kernels->make_factors);
      EXPECT_NE(other->forward, kernels->forward);
      EXPECT_NE(other->inverse, kernels->inverse);
      EXPECT_NE(other->multiply, kernels->multiply);
      EXPECT_NE(other->multiply_inverse, kernels->multiply_inverse);
      EXPECT_NE(other->add, kernels->add);
      EXPECT_NE(other->ternary, kernels->ternary);
      EXPECT_NE(other->error, kernels->error);
      EXPECT_NE(other->select_below, kernels->select_below);
      EXPECT_NE(other->all_below, kernels->all_below);
      EXPECT_NE(other->seal, kernels->seal);
      EXPECT_NE(other->decrypt, kernels->decrypt);
    }
  }
}

// Polynomials of `bound`: uniform below it; all 0; all the largest; 0 and the largest by turns and
// by halves; one value alone.
std::vector<AlignedWords> Polynomials(size_t degree, uint64_t bound, uint64_t seed) {
  crypto::InsecureSeededEntropy entropy(seed, "polynomials");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<AlignedWords> polynomials;
  for (int i = 0; i < 4; ++i) {
    AlignedWords polynomial(degree);
    for (uint64_t& value : polynomial) value = random.Below(bound);
    polynomials.push_back(std::move(polynomial));
  }
  for (const uint64_t value : {uint64_t{0}, bound - 1, bound / 2, uint64_t{1}}) {
    polynomials.emplace_back(degree, value);
  }
  for (const size_t run : {size_t{1}, size_t{2}, size_t{4}, size_t{8}, degree / 2}) {
    AlignedWords polynomial(degree);
    for (size_t i = 0; i < degree; ++i) polynomial[i] = i / run % 2 == 0 ? bound - 1 : 0;
    polynomials.push_back(polynomial);
    std::reverse(polynomial.begin(), polynomial.end());
    polynomials.push_back(std::move(polynomial));
  }
  for (const size_t place : {size_t{0}, size_t{5}, degree / 2, degree - 1}) {
    AlignedWords polynomial(degree, 0);
    polynomial[place] = bound - 1;
    polynomials.push_back(std::move(polynomial));
  }
  return polynomials;
}

struct Transforms {
  const Ntt& oracle;
  const Ntt& tested;
};
std::vector<Transforms> AllTransforms(const Kernels& tested) {
  return {{CompactNtt(0, ScalarKernels()), CompactNtt(0, tested)},
          {CompactNtt(1, ScalarKernels()), CompactNtt(1, tested)},
          {PaperNtt(ScalarKernels()), PaperNtt(tested)}};
}

TEST_P(KernelsTest, Transforms) {
  for (const Transforms& ntt : AllTransforms(Tested())) {
    const uint64_t p = ntt.oracle.modulus().prime();
    for (const AlignedWords& polynomial : Polynomials(ntt.oracle.degree(), 2 * p, 1)) {
      AlignedWords expected = polynomial;
      AlignedWords found = polynomial;
      ntt.oracle.Forward(expected);
      ntt.tested.Forward(found);
      EXPECT_EQ(expected, found);
    }
    for (const AlignedWords& values : Polynomials(ntt.oracle.degree(), p, 2)) {
      AlignedWords expected = values;
      AlignedWords found = values;
      ScalarKernels().inverse(ntt.oracle.tables(), expected.data());
      Tested().inverse(ntt.tested.tables(), found.data());
      EXPECT_EQ(expected, found);
    }
  }
}

// Every polynomial as a factor and as what is multiplied; the values 0, 1, p - 1 and around p / 2
// meet in `multiply`.
TEST_P(KernelsTest, Products) {
  for (const Transforms& ntt : AllTransforms(Tested())) {
    const Modulus& modulus = ntt.oracle.modulus();
    const size_t degree = ntt.oracle.degree();
    const std::vector<AlignedWords> polynomials = Polynomials(degree, modulus.prime(), 3);
    for (size_t i = 0; i < polynomials.size(); ++i) {
      const AlignedWords& values = polynomials[i];
      const AlignedWords& others = polynomials[(7 * i + 3) % polynomials.size()];
      for (const uint64_t scale : {uint64_t{1}, ntt.oracle.inverse_degree()}) {
        AlignedWords factors(2 * degree);
        AlignedWords tested_factors(2 * degree);
        ScalarKernels().make_factors(modulus, values.data(), scale, degree, factors.data());
        Tested().make_factors(modulus, values.data(), scale, degree, tested_factors.data());
        AlignedWords expected(degree);
        AlignedWords found(degree);
        ScalarKernels().multiply(modulus, others.data(), factors.data(), degree, expected.data());
        Tested().multiply(modulus, others.data(), tested_factors.data(), degree, found.data());
        EXPECT_EQ(expected, found);
        ScalarKernels().multiply_inverse(ntt.oracle.tables(), others.data(), factors.data(),
                                         expected.data());
        Tested().multiply_inverse(ntt.tested.tables(), others.data(), tested_factors.data(),
                                  found.data());
        EXPECT_EQ(expected, found);
      }
    }
  }
}

TEST_P(KernelsTest, FactorsAtTheEdgesTimesEdges) {
  for (const Modulus& modulus : kModuli) {
    const uint64_t p = modulus.prime();
    const std::vector<uint64_t> edges = {
        0,         1,         2,     3,     p / 4, p / 3,   p / 2 - 1,         p / 2,
        p / 2 + 1, p / 2 + 2, p - 3, p - 2, p - 1, 1 << 20, uint64_t{1} << 49, 856596136628};
    AlignedWords values, others;
    for (const uint64_t a : edges) {
      for (const uint64_t b : edges) {
        values.push_back(a);
        others.push_back(b);
      }
    }
    AlignedWords factors(2 * values.size());
    AlignedWords found(values.size());
    Tested().make_factors(modulus, values.data(), 1, values.size(), factors.data());
    Tested().multiply(modulus, others.data(), factors.data(), values.size(), found.data());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(found[i], modulus.Multiply(values[i], others[i])) << values[i] << " " << others[i];
    }
  }
}

TEST_P(KernelsTest, AddsOfEveryLength) {
  for (const Modulus& modulus : kModuli) {
    const auto polynomials = Polynomials(64, modulus.prime(), 4);
    for (size_t size = 0; size <= 64; ++size) {
      for (size_t i = 0; i < polynomials.size(); ++i) {
        AlignedWords expected = polynomials[i];
        AlignedWords found = polynomials[i];
        const AlignedWords& term = polynomials[(3 * i + 1) % polynomials.size()];
        ScalarKernels().add(modulus, term.data(), size, expected.data());
        Tested().add(modulus, term.data(), size, found.data());
        EXPECT_EQ(expected, found);
      }
    }
  }
}

TEST_P(KernelsTest, SmallValuesOfEveryLengthAtTheEdgesOfTheirWords) {
  crypto::InsecureSeededEntropy entropy(1, "small values");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<uint64_t> words = {0, 1, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1};
  for (const uint64_t third : {uint64_t{0x5555555555555555}, uint64_t{0xaaaaaaaaaaaaaaaa}}) {
    for (uint64_t offset = 0; offset < 5; ++offset) words.push_back(third - 2 + offset);
  }
  for (int bit = 0; bit < 64; ++bit) words.push_back(uint64_t{1} << bit);
  while (words.size() < 200) words.push_back(random.NextU64());
  for (size_t size = 0; size <= words.size(); size = size < 20 ? size + 1 : size + 30) {
    std::vector<int8_t> expected(size), found(size);
    ScalarKernels().ternary(words.data(), size, expected.data());
    Tested().ternary(words.data(), size, found.data());
    EXPECT_EQ(expected, found);
    ScalarKernels().error(words.data(), size, expected.data());
    Tested().error(words.data(), size, found.data());
    EXPECT_EQ(expected, found);
  }
}

TEST_P(KernelsTest, SelectionAndRangeChecksOfEveryLength) {
  crypto::InsecureSeededEntropy entropy(1, "selection");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  const uint64_t p = kPrime0;
  const std::vector<uint64_t> edges = {p - 1,
                                       p,
                                       p + 1,
                                       (uint64_t{1} << 50) - 1,
                                       0,
                                       ~uint64_t{0},
                                       uint64_t{1} << 63,
                                       p + (uint64_t{1} << 63)};
  for (size_t size = 0; size <= 70; ++size) {
    for (const uint64_t rare : {1, 3, 20}) {
      std::vector<uint64_t> words(size);
      for (uint64_t& word : words) {
        word = random.Below(rare) == 0 ? edges[random.Below(edges.size())] : random.NextU64();
      }
      for (const size_t wanted : {size_t{0}, size_t{1}, size / 2, size, size + 9}) {
        std::vector<uint64_t> expected(wanted + 8), found(wanted + 8);
        const size_t n =
            ScalarKernels().select_below(p, words.data(), size, wanted, expected.data());
        EXPECT_EQ(Tested().select_below(p, words.data(), size, wanted, found.data()), n);
        expected.resize(n);
        found.resize(n);
        EXPECT_EQ(expected, found);
      }
    }
    // One word that is not below, anywhere; read unaligned.
    std::vector<uint8_t> bytes(8 * size + 1);
    for (size_t i = 0; i <= size; ++i) {
      std::vector<uint64_t> words(size, p - 1);
      if (i < size) words[i] = edges[1 + random.Below(edges.size() - 1)];
      if (size > 0) std::memcpy(bytes.data() + 1, words.data(), 8 * size);
      const bool expected = ScalarKernels().all_below(p, bytes.data() + 1, size);
      EXPECT_EQ(Tested().all_below(p, bytes.data() + 1, size), expected);
      EXPECT_EQ(expected, i == size || words[i] < p);
    }
  }
}

// Layouts of every number of slots, narrow and wide, with slots below, across and above bit 38.
std::vector<SlotLayout> Layouts() {
  std::vector<SlotLayout> layouts;
  for (uint32_t bits = 8; bits <= 54; ++bits) {
    for (const uint32_t scale : {9u, 12u, 14u, 17u}) {
      layouts.push_back({.slots = (100 - scale) / bits, .slot_bits = bits, .scale_bits = scale});
    }
  }
  return layouts;
}

class JobsTest : public KernelsTest {
 protected:
  static constexpr size_t kN = kCompactDegree;

  JobsTest() : entropy_(1, "jobs"), random_(crypto::Random::FromEntropy(entropy_)) {
    for (size_t r = 0; r < 2; ++r) {
      a_ntt_[r].resize(kN);
      k_ntt_[r].resize(kN);
      for (uint64_t& value : a_ntt_[r]) value = random_.Below(kPrimes[r]);
      for (uint64_t& value : k_ntt_[r]) value = random_.Below(kPrimes[r]);
    }
    error_words_.resize(kN);
    random_.FillU64(error_words_);
    error_words_[0] = error_words_[1] = 0;
    error_words_[2] = error_words_[3] = ~uint64_t{0};
  }

  // The product of a and k by one set of kernels.
  class Product {
   public:
    Product(const JobsTest& test, const Kernels& kernels) : scratch_(ScratchWords(kN)) {
      for (size_t r = 0; r < 2; ++r) {
        factors_.emplace_back(std::span<const uint64_t>(test.k_ntt_[r]), CompactNtt(r, kernels));
        product_.tables[r] = &factors_[r].ntt().tables();
        product_.a_ntt[r] = test.a_ntt_[r].data();
      }
      for (size_t r = 0; r < 2; ++r) product_.k_factors[r] = factors_[r].factors();
      product_.scratch = scratch_.Expose().data();
    }
    const ProductModQ& operator*() const { return product_; }

   private:
    std::vector<Multiplier> factors_;
    crypto::SecretVector<uint64_t> scratch_;
    ProductModQ product_;
  };

  crypto::InsecureSeededEntropy entropy_;
  crypto::Random random_;
  std::array<AlignedWords, 2> a_ntt_;
  std::array<AlignedWords, 2> k_ntt_;
  std::vector<uint64_t> error_words_;
};

TEST_P(JobsTest, SealedPlanesOfEveryLayoutAndLength) {
  const Product oracle(*this, ScalarKernels());
  const Product tested(*this, Tested());
  size_t case_number = 0;
  for (const SlotLayout& layout : Layouts()) {
    const size_t used = case_number % 8 == 0 ? kN : 1 + random_.Below(60);
    const size_t missing = random_.Below(std::min<size_t>(used * layout.slots, 40));
    std::vector<uint32_t> counts(used * layout.slots - missing);
    for (size_t i = 0; i < counts.size(); ++i) {
      // Any u32: beyond the slot, so that it carries; saturated at first.
      counts[i] =
          i < 100 || case_number % 3 == 0 ? ~uint32_t{0} : static_cast<uint32_t>(random_.NextU64());
      if (case_number % 3 == 1) counts[i] >>= 32 - std::min(32u, layout.slot_bits);
      if (case_number % 11 == 5) counts[i] = 0;
    }
    const Uint128 shifts[] = {0, 1, kModulusQ - 1, kModulusQ / 3};
    const auto run = [&](const Kernels& kernels, const Product& product) {
      std::vector<uint8_t> planes(12 * used + 1);
      kernels.seal({.product = *product,
                    .error_words = error_words_.data(),
                    .counts = counts,
                    .layout = layout,
                    .shift = shifts[case_number % 4],
                    .used = used,
                    .planes = planes.data() + 1});
      return planes;
    };
    EXPECT_EQ(run(ScalarKernels(), oracle), run(Tested(), tested))
        << layout.slots << " x " << layout.slot_bits << " at " << layout.scale_bits << ", " << used;
    ++case_number;
  }
}

// Phases that are anywhere, and phases chosen at the edges of centring, rounding and slots: what is
// decrypted is a k plus the phase.
TEST_P(JobsTest, DecryptedSumsOfEveryLayoutAndLength) {
  const Product oracle(*this, ScalarKernels());
  const Product tested(*this, Tested());
  std::array<std::vector<uint64_t>, 2> product;
  for (size_t r = 0; r < 2; ++r) {
    product[r].resize(kN);
    Multiplier(std::span<const uint64_t>(k_ntt_[r]), CompactNtt(r, ScalarKernels()))
        .Multiply(a_ntt_[r], product[r]);
  }
  size_t case_number = 0;
  for (const SlotLayout& layout : Layouts()) {
    const size_t used = case_number % 8 == 0 ? kN : 1 + random_.Below(60);
    const Uint128 half = (kModulusQ - 1) / 2;
    const Uint128 unit = Uint128{1} << layout.scale_bits;
    const std::vector<Uint128> edges = {0,
                                        1,
                                        kModulusQ - 1,
                                        half,
                                        half + 1,
                                        half - 1,
                                        unit / 2,
                                        unit / 2 - 1,
                                        unit / 2 + 1,
                                        unit,
                                        kModulusQ - unit / 2,
                                        kModulusQ - unit / 2 - 1,
                                        kModulusQ - unit / 2 + 1};
    std::array<std::vector<uint8_t>, 2> residues;
    for (auto& bytes : residues) bytes.resize(8 * used + 1);
    for (size_t i = 0; i < used; ++i) {
      Uint128 phase = ((static_cast<Uint128>(random_.NextU64()) << 64) + random_.NextU64());
      if (i < edges.size()) {
        phase = edges[(i + case_number) % edges.size()];
      } else if (i % 3 == 1) {  // slots at their ends
        phase = kModulusQ * 2;
        for (uint32_t l = 0; l < layout.slots; ++l) {
          const Uint128 end = Uint128{1} << (layout.slot_bits - 1);
          const Uint128 slot = random_.Below(2) == 0 ? end - 1 : 0 - end;
          phase += slot << (layout.scale_bits + layout.slot_bits * l);
        }
      }
      for (size_t r = 0; r < 2; ++r) {
        const uint64_t c = kModuli[r].Add(static_cast<uint64_t>(phase % kPrimes[r]), product[r][i]);
        std::memcpy(&residues[r][8 * i + 1], &c, 8);
      }
    }
    const Uint128 shifts[] = {0, 1, kModulusQ - 1, kModulusQ / 3};
    const size_t sums_size = used * layout.slots - random_.Below(layout.slots);
    const uint64_t offsets[] = {0, 1, 40000000, uint64_t{1} << 52};
    const auto run = [&](const Kernels& kernels, const Product& by) {
      std::vector<uint64_t> sums(sums_size);
      kernels.decrypt({.product = *by,
                       .residues = {residues[0].data() + 1, residues[1].data() + 1},
                       .layout = layout,
                       .shift = shifts[case_number % 4],
                       .last_shift = shifts[case_number / 4 % 4],
                       .offset = offsets[case_number % 3 == 0 ? 3 : case_number % 4],
                       .used = used,
                       .sums = sums});
      return sums;
    };
    EXPECT_EQ(run(ScalarKernels(), oracle), run(Tested(), tested))
        << layout.slots << " x " << layout.slot_bits << " at " << layout.scale_bits << ", " << used;
    ++case_number;
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelsTest, testing::ValuesIn(kTargets), base::NameOfTarget);
INSTANTIATE_TEST_SUITE_P(Sets, JobsTest, testing::ValuesIn(kTargets), base::NameOfTarget);

}  // namespace
}  // namespace tacet::ring
