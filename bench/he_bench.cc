// Loops over uploads and counts, for every instruction set that the processor has, and the adder
// made of them. The argument is a base::Simd unless said otherwise; "bytes_per_second" counts the
// bytes read of uploads or counts.
#include <cstring>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"

#include "bench/choose_simd.h"
#include "tacet/crypto/random.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/he/shared_key_envelope.h"
#include "tacet/he/sum_kernels.h"

namespace tacet::he {
namespace {

using bench::Choose;

constexpr uint64_t kDimension = 486654;
constexpr size_t kPolynomialWords = 3 * 4096;
constexpr size_t kUploads = 32;

AggregationParams Params(Scheme scheme) {
  return *AggregationParams::Create({.scheme = scheme,
                                     .dimension = kDimension,
                                     .max_participants = 1000,
                                     .offset = 26277,
                                     .sum_bound = 2000000,
                                     .plaintext_bits = 22});
}

base::Bytes SomeBytes(size_t count, std::string_view label) {
  base::Bytes bytes(count);
  crypto::InsecureSeededEntropy(1, label).Fill(bytes);
  return bytes;
}

void CountBytes(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(bytes));
}

// range(1) polynomials at once into one of the sum, all in the second-level cache.
void AddWords(benchmark::State& state) {
  base::Simd simd;
  if (!Choose(state, simd)) return;
  const size_t count = static_cast<size_t>(state.range(1));
  std::vector<base::Bytes> sources(count, SomeBytes(4 * kPolynomialWords, "words"));
  std::vector<const uint8_t*> places;
  for (const base::Bytes& source : sources) places.push_back(source.data());
  std::vector<uint64_t> sums(kPolynomialWords);
  std::vector<WordSums> of_sources(count);
  for (auto _ : state) {
    SumKernelsFor(simd).add_words(places.data(), count, kPolynomialWords, sums.data(),
                                  of_sources.data());
    benchmark::DoNotOptimize(of_sources.data());
  }
  CountBytes(state, count * 4 * kPolynomialWords);
}
BENCHMARK(AddWords)->ArgsProduct({{0, 1, 2}, {1, 2, 4}});

void SumWords(benchmark::State& state) {
  base::Simd simd;
  if (!Choose(state, simd)) return;
  const base::Bytes bytes = SomeBytes(4 * kPolynomialWords, "words");
  for (auto _ : state) {
    benchmark::DoNotOptimize(SumKernelsFor(simd).sum_words(bytes.data(), kPolynomialWords));
  }
  CountBytes(state, bytes.size());
}
BENCHMARK(SumWords)->DenseRange(0, 2);

void LargestWord(benchmark::State& state) {
  base::Simd simd;
  if (!Choose(state, simd)) return;
  const base::Bytes bytes = SomeBytes(4 * 4096, "words");
  for (auto _ : state) {
    benchmark::DoNotOptimize(SumKernelsFor(simd).largest_word(bytes.data(), 4096));
  }
  CountBytes(state, bytes.size());
}
BENCHMARK(LargestWord)->DenseRange(0, 2);

void MultiplyRows(benchmark::State& state) {
  base::Simd simd;
  if (!Choose(state, simd)) return;
  std::vector<uint32_t> limbs(kTagLimbs * 4096, (1u << kTagLimbBits) - 1);
  std::vector<uint32_t> counts(kTagRowsAtOnce * 4096, 26277);
  const uint32_t* rows[kTagRowsAtOnce];
  for (size_t r = 0; r < kTagRowsAtOnce; ++r) rows[r] = counts.data() + 4096 * r;
  LimbProducts products[kTagRowsAtOnce];
  for (auto _ : state) {
    SumKernelsFor(simd).limb_products(limbs.data(), 4096, rows, kTagRowsAtOnce, 4096, products);
    benchmark::DoNotOptimize(products);
  }
  CountBytes(state, 4 * counts.size());
}
BENCHMARK(MultiplyRows)->DenseRange(0, 2);

// The tag of an update and of an opened sum (ActiveSimd).
void TagOfCounts(benchmark::State& state) {
  const HomomorphicMacKey key(crypto::SecretBytes(32), kDimension, {});
  const std::vector<uint32_t> counts(kDimension, 26277);
  for (auto _ : state) benchmark::DoNotOptimize(key.Compute(counts, TagNonce{}));
  CountBytes(state, 4 * kDimension);
}
BENCHMARK(TagOfCounts)->Unit(benchmark::kMicrosecond);

void TagOfSum(benchmark::State& state) {
  const HomomorphicMacKey key(crypto::SecretBytes(32), kDimension, {});
  const std::vector<uint64_t> sums(kDimension, 26277000);
  for (auto _ : state) benchmark::DoNotOptimize(key.OfSum(sums));
  CountBytes(state, 8 * kDimension);
}
BENCHMARK(TagOfSum)->Unit(benchmark::kMicrosecond);

// What adding is held against: reading as many bytes, which do not fit the caches.
void ReadUploads(benchmark::State& state) {
  const size_t bytes = Params(Scheme::kCompact).ciphertext_bytes() / 8 * 8;
  std::vector<base::Bytes> uploads(4 * kUploads, base::Bytes(bytes, 1));
  for (auto _ : state) {
    for (const base::Bytes& upload : uploads) {
      uint64_t sum = 0;
      for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word;
        std::memcpy(&word, upload.data() + i, sizeof(word));
        sum += word;
      }
      benchmark::DoNotOptimize(sum);
    }
  }
  CountBytes(state, uploads.size() * bytes);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * uploads.size()));
}
BENCHMARK(ReadUploads)->Unit(benchmark::kMillisecond);

// Uploads of a server, range(0) of them waiting at a time; "items" are uploads.
void AddUploads(benchmark::State& state) {
  const AggregationParams params = Params(Scheme::kCompact);
  const auto waiting = static_cast<size_t>(state.range(0));
  const auto encryptor = *NewEncryptor(params, SomeBytes(32, "seed"), crypto::SecretBytes(32));
  std::vector<base::Bytes> uploads(4 * kUploads);
  crypto::InsecureSeededEntropy entropy(1, "uploads");
  const std::vector<uint32_t> counts(kDimension, 26277);
  for (base::Bytes& upload : uploads) {
    if (!encryptor->Encrypt(counts, entropy.Draw(32), upload).ok()) return;
  }
  auto adder = NewAdder(params);
  std::vector<absl::Status> results(waiting);
  for (auto _ : state) {
    if (adder->count() + uploads.size() > 1000) {
      state.PauseTiming();
      adder = NewAdder(params);
      state.ResumeTiming();
    }
    for (size_t first = 0; first < uploads.size(); first += waiting) {
      std::vector<Contribution> contributions;
      for (size_t u = first; u < first + waiting; ++u) {
        contributions.push_back({.ciphertext = uploads[u], .announced = std::nullopt});
      }
      adder->AddEach(contributions, results);
    }
  }
  CountBytes(state, uploads.size() * params.ciphertext_bytes());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * uploads.size()));
}
BENCHMARK(AddUploads)->RangeMultiplier(4)->Range(1, 64)->Unit(benchmark::kMillisecond);

void AddEnvelope(benchmark::State& state) {
  const SharedKeyEnvelope envelope = *SharedKeyEnvelope::Create(1000);
  const crypto::SecretVector<int8_t> key(4096);
  base::Bytes sealed(envelope.sealed_bytes());
  envelope.NewSealer(crypto::SecretBytes(32))->Seal(key.Expose(), crypto::SecretBytes(32), sealed);
  const auto adder = envelope.NewAdder();
  for (auto _ : state) adder->Add(sealed);
}
BENCHMARK(AddEnvelope)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tacet::he
