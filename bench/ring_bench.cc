// The kernels of sealing and opening a polynomial (N = 4096; the transform at 8192 too) for every
// set that the processor has, in microseconds of processor time a polynomial; and whole seals and
// openings of 486,654 values with the active set. The argument is a place in AvailableKernels().
#include <cstdint>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

#include "tacet/base/cpu.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/he/aggregation.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"

namespace tacet {
namespace {

using ring::AlignedWords;
using ring::Kernels;

constexpr size_t kN = ring::kCompactDegree;

crypto::Random BenchRandom() {
  crypto::InsecureSeededEntropy entropy(1, "bench");
  return crypto::Random::FromEntropy(entropy);
}

const Kernels& Chosen(benchmark::State& state) {
  const Kernels& kernels = *ring::AvailableKernels()[static_cast<size_t>(state.range(0))];
  state.SetLabel(std::string(kernels.name));
  return kernels;
}
void EverySet(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMicrosecond);
  for (size_t i = 0; i < ring::AvailableKernels().size(); ++i) {
    bench->Arg(static_cast<int64_t>(i));
  }
}

AlignedWords RandomValues(size_t size, uint64_t prime) {
  crypto::Random random = BenchRandom();
  AlignedWords values(size);
  for (uint64_t& value : values) value = random.Below(prime);
  return values;
}

void Forward(benchmark::State& state) {
  const ring::Ntt& ntt = ring::CompactNtt(0, Chosen(state));
  AlignedWords values = RandomValues(kN, ring::kPrime0);
  for (auto _ : state) {
    ntt.Forward(values);
    benchmark::DoNotOptimize(values.data());
  }
}
BENCHMARK(Forward)->Apply(EverySet);

void MultiplyInverse(benchmark::State& state) {
  const ring::Ntt& ntt = ring::CompactNtt(0, Chosen(state));
  const AlignedWords values = RandomValues(kN, ring::kPrime0);
  const ring::Multiplier factor(values, ntt);
  AlignedWords product(kN);
  for (auto _ : state) {
    factor.Multiply(values, product);
    benchmark::DoNotOptimize(product.data());
  }
}
BENCHMARK(MultiplyInverse)->Apply(EverySet);

void MultiplyInverse8192(benchmark::State& state) {
  const ring::Ntt& ntt = ring::PaperNtt(Chosen(state));
  const AlignedWords values = RandomValues(ring::kPaperDegree, ring::kPrime0);
  const ring::Multiplier factor(values, ntt);
  AlignedWords product(ring::kPaperDegree);
  for (auto _ : state) {
    factor.Multiply(values, product);
    benchmark::DoNotOptimize(product.data());
  }
}
BENCHMARK(MultiplyInverse8192)->Apply(EverySet);

// Inputs for sealing and opening a polynomial of 4 x 22 bits.
struct Polynomial {
  explicit Polynomial(const Kernels& kernels)
      : a{RandomValues(2 * kN, ring::kPrime1)},
        scratch(ring::ScratchWords(kN)),
        error_words(kN),
        counts(4 * kN, 26277),
        planes(12 * kN),
        sums(4 * kN) {
    for (size_t r = 0; r < 2; ++r) {
      factors.emplace_back(std::span<const uint64_t>(a).subspan(r * kN, kN),
                           ring::CompactNtt(r, kernels));
    }
    product = {.tables = {&factors[0].ntt().tables(), &factors[1].ntt().tables()},
               .a_ntt = {a.data(), a.data() + kN},
               .k_factors = {factors[0].factors(), factors[1].factors()},
               .scratch = scratch.Expose().data()};
    BenchRandom().FillU64(error_words);
  }

  static constexpr ring::SlotLayout kLayout = {.lanes = 4, .lane_bits = 22, .scale_bits = 12};
  AlignedWords a;
  std::vector<ring::Multiplier> factors;
  crypto::SecretVector<uint64_t> scratch;
  AlignedWords error_words;
  std::vector<uint32_t> counts;
  std::vector<uint8_t> planes;
  std::vector<uint64_t> sums;
  ring::ProductModQ product;
};

void SealPolynomial(benchmark::State& state) {
  const Kernels& kernels = Chosen(state);
  Polynomial polynomial(kernels);
  for (auto _ : state) {
    kernels.seal({.product = polynomial.product,
                  .error_words = polynomial.error_words.data(),
                  .counts = polynomial.counts,
                  .layout = Polynomial::kLayout,
                  .shift = 0,
                  .used = kN,
                  .planes = polynomial.planes.data()});
    benchmark::DoNotOptimize(polynomial.planes.data());
  }
}
BENCHMARK(SealPolynomial)->Apply(EverySet);

void OpenPolynomial(benchmark::State& state) {
  const Kernels& kernels = Chosen(state);
  Polynomial polynomial(kernels);
  const auto* const residues = reinterpret_cast<const uint8_t*>(polynomial.a.data());
  for (auto _ : state) {
    kernels.open({.product = polynomial.product,
                  .residues = {residues, residues + 8 * kN},
                  .layout = Polynomial::kLayout,
                  .shift = 1,
                  .last_shift = 0,
                  .offset = 26277000,
                  .used = kN,
                  .sums = polynomial.sums});
    benchmark::DoNotOptimize(polynomial.sums.data());
  }
}
BENCHMARK(OpenPolynomial)->Apply(EverySet);

void CheckRange(benchmark::State& state) {
  const Kernels& kernels = Chosen(state);
  const AlignedWords values = RandomValues(2 * kN, ring::kPrime1);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(values.data());
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernels.all_below(ring::kPrime1, bytes, 2 * kN));
  }
}
BENCHMARK(CheckRange)->Apply(EverySet);

void SelectBelow(benchmark::State& state) {
  const Kernels& kernels = Chosen(state);
  AlignedWords words(kN);
  BenchRandom().FillU64(words);
  AlignedWords values(kN + 8);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        kernels.select_below(ring::kPrime0, words.data(), kN, kN, values.data()));
  }
}
BENCHMARK(SelectBelow)->Apply(EverySet);

// The errors' key stream, beside which the rest stands.
void ErrorWords(benchmark::State& state) {
  crypto::Random random = BenchRandom();
  AlignedWords words(kN);
  for (auto _ : state) {
    random.FillU64(words);
    benchmark::DoNotOptimize(words.data());
  }
}
BENCHMARK(ErrorWords)->Unit(benchmark::kMicrosecond);

// Whole seals and openings, envelope included; the argument is a he::Scheme.
struct Attempt {
  explicit Attempt(benchmark::State& state)
      : params(*he::AggregationParams::Create({.scheme = static_cast<he::Scheme>(state.range(0)),
                                               .dimension = 486654,
                                               .max_participants = 1000,
                                               .offset = 26277,
                                               .sum_bound = 2000000})),
        entropy(1, "bench"),
        seed(entropy.Draw(32)),
        group_secret(entropy.Draw(32)),
        seal_key(entropy.Draw(32)),
        encryptor(*he::NewEncryptor(params, seed.Expose(), group_secret)),
        counts(params.dimension(), 26277) {
    state.SetLabel(std::string(he::SchemeName(params.scheme())) + ", " +
                   std::string(ring::ActiveKernels().name));
  }
  he::AggregationParams params;
  crypto::InsecureSeededEntropy entropy;
  crypto::SecretBytes seed, group_secret, seal_key;
  std::unique_ptr<he::Encryptor> encryptor;
  std::vector<uint32_t> counts;
  base::Bytes ciphertext;
};

void Encrypt(benchmark::State& state) {
  Attempt attempt(state);
  for (auto _ : state) {
    if (!attempt.encryptor->Encrypt(attempt.counts, attempt.seal_key, attempt.ciphertext).ok()) {
      state.SkipWithError("encryption failed");
    }
  }
}
BENCHMARK(Encrypt)->DenseRange(1, 3)->Unit(benchmark::kMicrosecond);

void Decrypt(benchmark::State& state) {
  Attempt attempt(state);
  const auto adder = he::NewAdder(attempt.params);
  const auto decryptor =
      *he::NewDecryptor(attempt.params, attempt.seed.Expose(), attempt.group_secret);
  if (!attempt.encryptor->Encrypt(attempt.counts, attempt.seal_key, attempt.ciphertext).ok() ||
      !adder->Add(attempt.ciphertext).ok()) {
    state.SkipWithError("encryption failed");
  }
  const base::Bytes sum = adder->Close();
  std::vector<uint64_t> sums;
  for (auto _ : state) {
    if (!decryptor->DecryptInto(sum, 1, sums).ok()) state.SkipWithError("opening failed");
  }
}
BENCHMARK(Decrypt)->DenseRange(1, 3)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tacet
