// Every set of kernels against the scalar oracle. The input chooses layout, length and values:
//   byte 0: slots (1..12), byte 1: slot bits (8..54), byte 2: scale bits (1..17), all mod their
//   range and cut so that kappa + w L <= 100; bytes 3, 4: coefficients used;
// the rest, repeated, are the bytes of residues, counts, error words and shifts.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "fuzz/byte_source.h"
#include "tacet/crypto/secret.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"

namespace {

using namespace tacet;
using namespace tacet::ring;

constexpr size_t kN = kCompactDegree;

void Require(bool condition) {
  if (!condition) std::abort();
}

AlignedWords WordsBelow(fuzz::ByteSource& source, size_t size, uint64_t bound) {
  AlignedWords words(size);
  for (uint64_t& word : words) word = bound == 0 ? source.Next() : source.Next() % bound;
  return words;
}

struct Outputs {
  std::vector<AlignedWords> words;
  std::vector<uint8_t> planes;
  std::vector<uint64_t> sums;
  std::vector<int8_t> small;
  size_t selected = 0;
  bool below = false;
  bool operator==(const Outputs&) const = default;
};

struct Inputs {
  SlotLayout layout;
  size_t used = 0;
  std::array<AlignedWords, 2> a, k, c;
  AlignedWords words;
  std::vector<uint32_t> counts;
  Uint128 shift = 0;
  uint64_t offset = 0;
};

Outputs Run(const Kernels& kernels, const Inputs& in) {
  Outputs out;
  std::vector<Multiplier> factors;
  for (size_t r = 0; r < 2; ++r) {
    const Ntt& ntt = CompactNtt(r, kernels);
    factors.emplace_back(std::span<const uint64_t>(in.k[r]), ntt);
    AlignedWords values = in.a[r];
    ntt.Forward(values);
    out.words.push_back(values);
    kernels.inverse(ntt.tables(), values.data());
    kernels.add(ntt.modulus(), in.c[r].data(), in.used, values.data());
    out.words.push_back(values);
    ValueMultiplier(in.k[r], ntt).Multiply(in.a[r], values);
    out.words.push_back(std::move(values));
  }
  crypto::SecretVector<uint64_t> scratch(ScratchWords(kN));
  const ProductModQ product = {.tables = {&factors[0].ntt().tables(), &factors[1].ntt().tables()},
                               .a_ntt = {in.a[0].data(), in.a[1].data()},
                               .k_factors = {factors[0].factors(), factors[1].factors()},
                               .scratch = scratch.Expose().data()};
  out.planes.resize(12 * in.used);
  kernels.seal({.product = product,
                .error_words = in.words.data(),
                .counts = in.counts,
                .layout = in.layout,
                .shift = in.shift,
                .used = in.used,
                .planes = out.planes.data()});
  out.sums.resize(in.counts.size());
  kernels.decrypt({.product = product,
                   .residues = {reinterpret_cast<const uint8_t*>(in.c[0].data()),
                                reinterpret_cast<const uint8_t*>(in.c[1].data())},
                   .layout = in.layout,
                   .shift = in.shift,
                   .last_shift = kModulusQ - 1 - in.shift,
                   .offset = in.offset,
                   .used = in.used,
                   .sums = out.sums});
  out.small.resize(2 * in.used);
  kernels.ternary(in.words.data(), in.used, out.small.data());
  kernels.error(in.words.data(), in.used, out.small.data() + in.used);
  AlignedWords selected(in.used + 8, 0);
  out.selected = kernels.select_below(kPrime0, in.words.data(), in.used, in.used, selected.data());
  selected.resize(out.selected);
  out.words.push_back(std::move(selected));
  out.below = kernels.all_below(kPrime1, reinterpret_cast<const uint8_t*>(in.c[1].data()), in.used);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::array<uint8_t, 5> head{};
  std::copy_n(data, std::min(size, head.size()), head.begin());
  Inputs in;
  in.layout.slot_bits = 8 + head[1] % 47;
  in.layout.scale_bits = 1 + head[2] % 17;
  const uint32_t most = (100 - in.layout.scale_bits) / in.layout.slot_bits;
  in.layout.slots = 1 + head[0] % (most < kMaxSlots ? most : kMaxSlots);
  in.used = 1 + (head[3] | size_t{head[4]} << 8) % kN;

  const size_t read = std::min(size, head.size());
  fuzz::ByteSource source(data + read, size - read);
  for (size_t r = 0; r < 2; ++r) {
    in.a[r] = WordsBelow(source, kN, kPrimes[r]);
    in.k[r] = WordsBelow(source, kN, kPrimes[r]);
    in.c[r] = WordsBelow(source, kN, kPrimes[r]);
  }
  in.words = WordsBelow(source, kN, 0);
  in.counts.resize(in.used * in.layout.slots - source.Next() % in.layout.slots);
  for (uint32_t& count : in.counts) count = static_cast<uint32_t>(source.Next());
  in.shift = ((static_cast<Uint128>(source.Next()) << 64) + source.Next()) % kModulusQ;
  in.offset = source.Next() >> 11;

  const Outputs expected = Run(ScalarKernels(), in);
  for (const Kernels* kernels : AvailableKernels()) Require(Run(*kernels, in) == expected);
  return 0;
}
