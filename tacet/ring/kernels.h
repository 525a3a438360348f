// The inner loops over polynomials, once for every instruction set. All sets give the same bytes.
//
// kernels_scalar.cc is the oracle: plain integers, one coefficient after the other.
// kernels_simd.cc (AVX2, AVX-512) and kernels_ifma.cc (AVX-512 with 52-bit multiply-add) hold the
// same functions on vectors. Between its functions a set keeps residues and constant factors in a
// form of its own; whatever leaves a kernel is canonical. No kernel branches on, or computes an
// address from, anything but sizes and layouts (and the public words of `select_below`).
#ifndef TACET_RING_KERNELS_H_
#define TACET_RING_KERNELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/base/target.h"
#include "tacet/ring/active_kernels.h"
#include "tacet/ring/aligned.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/modulus.h"
#include "tacet/ring/ntt_tables.h"
#include "tacet/ring/slot_layout.h"

namespace tacet::ring {

// Words of secret scratch memory that sealing or decrypting a polynomial of degree N uses: 2 N and
// room for the vectors that reach past its end.
constexpr size_t ScratchWords(size_t degree) { return 2 * degree + 512; }

// A product a k in Z_Q[X]/(X^N + 1), both factors mod both primes.
struct ProductModQ {
  std::array<const NttTables*, 2> tables{};
  std::array<const uint64_t*, 2> a_ntt{};      // N canonical values
  std::array<const uint64_t*, 2> k_factors{};  // 2 N words: factors k / N
  uint64_t* scratch = nullptr;                 // ScratchWords(N), 64-byte aligned
};

// The first `used` coefficients of
//   c = a k + e + 2^kappa Σ_l counts_l 2^(w l) + shift mod Q, in [0, Q),
// each written as floor(c / 2^4) in three planes of u32: 4 used bytes of bits 0 to 31, then of bits
// 32 to 63, then of bits 64 to 95. e_i = (bits set among the low 42 of error_words[i]) - 21.
struct SealJob {
  ProductModQ product;
  const uint64_t* error_words = nullptr;  // used
  std::span<const uint32_t> counts;       // L a coefficient; what is missing at the end is 0
  SlotLayout layout;
  Uint128 shift = 0;  // public, in [0, Q)
  size_t used = 0;    // 1 to N
  uint8_t* planes = nullptr;
};

// With the phase = c - a k + shift, centred mod Q in [-(Q-1)/2, (Q-1)/2], of the first `used`
// coefficients and m = floor(phase / 2^kappa + 1/2): m is written in slots v_l in
// [-2^(w-1), 2^(w-1) - 1], lowest first, what remains beyond slot L - 1 is dropped, and
// sums[i L + l] = max(v_l + offset, 0).
struct DecryptJob {
  ProductModQ product;
  // c mod each prime, little-endian u64, read unaligned; where a word is not canonical the sums are
  // undefined, nothing else.
  std::array<const uint8_t*, 2> residues{};
  SlotLayout layout;
  Uint128 shift = 0;         // public, in [0, Q)
  Uint128 last_shift = 0;    // added to the last used coefficient, in [0, Q)
  uint64_t offset = 0;       // below 2^53
  size_t used = 0;           // 1 to N
  std::span<uint64_t> sums;  // L a coefficient; may end inside the last one
};

// Sizes are multiples of 8 where nothing else is said.
struct Kernels {
  base::Target target = base::Target::kScalar;
  size_t lanes = 1;  // coefficients a vector holds

  // factors[0, size) and factors[size, 2 size): the constant factors scale values[i] mod p, in the
  // set's form. Canonical values, a public canonical scale.
  void (*make_factors)(const Modulus& modulus, const uint64_t* values, uint64_t scale, size_t size,
                       uint64_t* factors) = nullptr;

  // In place, ntt.h. `forward`: coefficients below 2p in; `inverse`: canonical values in, N times
  // the coefficients out.
  void (*forward)(const NttTables& tables, uint64_t* polynomial) = nullptr;
  void (*inverse)(const NttTables& tables, uint64_t* polynomial) = nullptr;
  // product[i] = values[i] factor[i] mod p; any two of the arrays may be the same.
  void (*multiply)(const Modulus& modulus, const uint64_t* values, const uint64_t* factors,
                   size_t size, uint64_t* product) = nullptr;
  // `multiply`, then `inverse`.
  void (*multiply_inverse)(const NttTables& tables, const uint64_t* values, const uint64_t* factors,
                           uint64_t* product) = nullptr;
  // sum[i] <- sum[i] + term[i] mod p; any size.
  void (*add)(const Modulus& modulus, const uint64_t* term, size_t size, uint64_t* sum) = nullptr;

  // floor(3 words[i] / 2^64) - 1, and the bits set among the low 42 of words[i] less 21; any size.
  void (*ternary)(const uint64_t* words, size_t size, int8_t* values) = nullptr;
  void (*error)(const uint64_t* words, size_t size, int8_t* values) = nullptr;

  // Writes those of words[i] mod 2^50 that are below the prime to `values`, in order, until there
  // are `wanted`; returns how many there are. `values` has room for `wanted` and 8 more; any sizes.
  size_t (*select_below)(uint64_t prime, const uint64_t* words, size_t size, size_t wanted,
                         uint64_t* values) = nullptr;
  // True when all `size` (any number) little-endian words, read unaligned, are below the prime.
  bool (*all_below)(uint64_t prime, const uint8_t* words, size_t size) = nullptr;

  void (*seal)(const SealJob& job) = nullptr;
  void (*decrypt)(const DecryptJob& job) = nullptr;
};

// Every version of this processor.
std::span<const Kernels* const> AvailableKernels();

// The versions themselves.
const Kernels& ScalarKernels();
std::span<const Kernels* const> VectorKernels();
const Kernels& Avx512IfmaKernels();  // x86-64 only

// The order in which a set of `lanes` lanes keeps roots: as they are but for the stages whose
// butterflies lie inside a vector. Those stages work on squares of lanes x lanes coefficients
// turned over, where block r + (lanes / 2h) g, r < lanes / 2h, of a stage with halves of h < lanes
// is in lane g: its roots are kept lane by lane for each r.
AlignedWords ArrangeRoots(std::span<const uint64_t> roots, size_t lanes);

}  // namespace tacet::ring

#endif  // TACET_RING_KERNELS_H_
