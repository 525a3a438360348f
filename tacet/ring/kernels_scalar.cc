// The kernels in plain integers: the oracle of all others.
#include <algorithm>
#include <cstdint>

#include "tacet/ring/kernels.h"
#include "tacet/ring/sampling.h"
#include "tacet/ring/slots.h"
#include "tacet/ring/words.h"

namespace tacet::ring {
namespace {

// Factors are Shoup's: w, and floor(w 2^64 / p) in the second half.
ShoupFactor FactorAt(const uint64_t* factors, size_t size, size_t index) {
  return {factors[index], factors[size + index]};
}

void MakeFactors(const Modulus& modulus, const uint64_t* values, uint64_t scale, size_t size,
                 uint64_t* factors) {
  const ShoupFactor by_scale = modulus.Shoup(scale);
  for (size_t i = 0; i < size; ++i) {
    const ShoupFactor factor = modulus.Shoup(modulus.Multiply(values[i], by_scale));
    factors[i] = factor.value;
    factors[size + i] = factor.quotient;
  }
}

void Forward(const NttTables& tables, uint64_t* a) {
  const Modulus& modulus = tables.modulus;
  const uint64_t two_p = 2 * modulus.prime();
  // A stage adds at most 2p to the largest value: below 2p + 2p log2 N < 2^56 at the end.
  for (size_t blocks = 1, half = tables.degree / 2; half >= 1; blocks *= 2, half /= 2) {
    for (size_t block = 0; block < blocks; ++block) {
      const ShoupFactor root = FactorAt(tables.roots.data(), tables.degree, blocks + block);
      uint64_t* const low = a + 2 * block * half;
      uint64_t* const high = low + half;
      for (size_t i = 0; i < half; ++i) {
        const uint64_t u = low[i];
        const uint64_t v = modulus.MultiplyLazy(high[i], root);
        low[i] = u + v;
        high[i] = u + two_p - v;
      }
    }
  }
  for (size_t i = 0; i < tables.degree; ++i) a[i] = modulus.Reduce(a[i]);
}

void Inverse(const NttTables& tables, uint64_t* a) {
  const Modulus& modulus = tables.modulus;
  // `bound` is above every value: sums double it, products fall below 2p. At N = 8192 it ends at
  // 2^14 p < 2^64.
  uint64_t bound = 2 * modulus.prime();
  for (size_t blocks = tables.degree / 2, half = 1; blocks >= 1; blocks /= 2, half *= 2) {
    for (size_t block = 0; block < blocks; ++block) {
      const ShoupFactor root = FactorAt(tables.inverse_roots.data(), tables.degree, blocks + block);
      uint64_t* const low = a + 2 * block * half;
      uint64_t* const high = low + half;
      for (size_t i = 0; i < half; ++i) {
        const uint64_t u = low[i];
        const uint64_t v = high[i];
        low[i] = u + v;
        high[i] = modulus.MultiplyLazy(u + bound - v, root);
      }
    }
    bound *= 2;
  }
  for (size_t i = 0; i < tables.degree; ++i) a[i] = modulus.Reduce(a[i]);
}

void Multiply(const Modulus& modulus, const uint64_t* values, const uint64_t* factors, size_t size,
              uint64_t* product) {
  for (size_t i = 0; i < size; ++i) {
    product[i] = modulus.Multiply(values[i], FactorAt(factors, size, i));
  }
}

void MultiplyInverse(const NttTables& tables, const uint64_t* values, const uint64_t* factors,
                     uint64_t* product) {
  for (size_t i = 0; i < tables.degree; ++i) {
    product[i] = tables.modulus.MultiplyLazy(values[i], FactorAt(factors, tables.degree, i));
  }
  Inverse(tables, product);
}

void Add(const Modulus& modulus, const uint64_t* term, size_t size, uint64_t* sum) {
  for (size_t i = 0; i < size; ++i) sum[i] = modulus.Add(sum[i], term[i]);
}

void Ternary(const uint64_t* words, size_t size, int8_t* values) {
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<int8_t>(TernaryOf(words[i]));
}

void Error(const uint64_t* words, size_t size, int8_t* values) {
  for (size_t i = 0; i < size; ++i) values[i] = static_cast<int8_t>(ErrorOf(words[i]));
}

size_t SelectBelow(uint64_t prime, const uint64_t* words, size_t size, size_t wanted,
                   uint64_t* values) {
  constexpr uint64_t kMask = (uint64_t{1} << kPrimeBits) - 1;
  size_t found = 0;
  for (size_t i = 0; i < size && found < wanted; ++i) {
    values[found] = words[i] & kMask;  // a rejected word is overwritten by the next
    found += values[found] < prime ? 1 : 0;
  }
  return found;
}

bool AllBelow(uint64_t prime, const uint8_t* words, size_t size) {
  uint64_t largest = 0;
  for (size_t i = 0; i < size; ++i) largest = std::max(largest, LoadWord64(words + 8 * i));
  return largest < prime;
}

// a k mod both primes, in the scratch memory.
std::array<uint64_t*, 2> MultiplyModQ(const ProductModQ& product) {
  const size_t degree = product.tables[0]->degree;
  const std::array<uint64_t*, 2> residues = {product.scratch, product.scratch + degree};
  for (size_t r = 0; r < 2; ++r) {
    MultiplyInverse(*product.tables[r], product.a_ntt[r], product.k_factors[r], residues[r]);
  }
  return residues;
}

void Seal(const SealJob& job) {
  const std::array<uint64_t*, 2> product = MultiplyModQ(job.product);
  const size_t slots = job.layout.slots;
  for (size_t i = 0; i < job.used; ++i) {
    const size_t first = std::min(i * slots, job.counts.size());
    const Int128 packed =
        PackSlots(job.counts.subspan(first, std::min(slots, job.counts.size() - first)),
                  job.layout.slot_bits);
    // Counts may carry beyond their slots: 2^kappa m < 2^(100 - w + 33) <= 2^125.
    const Uint128 added = (static_cast<Uint128>(packed) << job.layout.scale_bits) + kModulusQ +
                          job.shift + static_cast<Uint128>(Int128{ErrorOf(job.error_words[i])});
    const Uint128 kept = ReduceQ(ComposeCrt(product[0][i], product[1][i]) + added) >> 4;
    for (size_t plane = 0; plane < 3; ++plane) {
      StoreWord32(static_cast<uint32_t>(kept >> (32 * plane)),
                  job.planes + 4 * (plane * job.used + i));
    }
  }
}

void Decrypt(const DecryptJob& job) {
  const std::array<uint64_t*, 2> product = MultiplyModQ(job.product);
  std::array<int64_t, kMaxSlots> values;
  const size_t slots = job.layout.slots;
  for (size_t i = 0; i < job.used; ++i) {
    std::array<uint64_t, 2> phase;
    for (size_t r = 0; r < 2; ++r) {
      phase[r] = kModuli[r].Subtract(LoadWord64(job.residues[r] + 8 * i), product[r][i]);
    }
    const Uint128 shift = job.shift + (i + 1 == job.used ? job.last_shift : 0);
    const Int128 centred = CentreQ(ReduceQ(ComposeCrt(phase[0], phase[1]) + shift));
    UnpackSlots(RoundToMultiple(centred, job.layout.scale_bits), job.layout.slot_bits,
                std::span(values).first(slots));
    for (size_t l = 0; l < slots && i * slots + l < job.sums.size(); ++l) {
      const uint64_t sum = static_cast<uint64_t>(values[l]) + job.offset;
      job.sums[i * slots + l] = sum & ~MaskOfTopBit(sum);
    }
  }
}

constexpr Kernels kKernels = {.target = base::Target::kScalar,
                              .lanes = 1,
                              .make_factors = MakeFactors,
                              .forward = Forward,
                              .inverse = Inverse,
                              .multiply = Multiply,
                              .multiply_inverse = MultiplyInverse,
                              .add = Add,
                              .ternary = Ternary,
                              .error = Error,
                              .select_below = SelectBelow,
                              .all_below = AllBelow,
                              .seal = Seal,
                              .decrypt = Decrypt};

}  // namespace

const Kernels& ScalarKernels() { return kKernels; }

}  // namespace tacet::ring
