#include "tacet/he/compact.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tacet/base/mutex.h"
#include "tacet/he/truncated_planes.h"
#include "tacet/ring/crt.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/sampling.h"
#include "tacet/ring/uniform.h"

namespace tacet::he {

double CompactNoiseVariance() { return ring::kErrorVariance + kTruncationVariance; }

uint32_t MaxParticipantsAtScale(uint32_t scale_bits) {
  const double room = std::ldexp(1.0, static_cast<int>(scale_bits) - 1) - 0.5;
  const double z_squared = 2 * 81 * std::numbers::ln2;
  // None of the nine quotients is within 10^-3 of an integer.
  return static_cast<uint32_t>(room * room / (z_squared * CompactNoiseVariance()));
}

bool SlotsFit(uint32_t slots, uint32_t slot_bits, uint32_t scale_bits, uint64_t sum_bound) {
  if (scale_bits + slot_bits * slots > 100) return false;  // below, everything fits 127 bits
  if (sum_bound >= uint64_t{1} << (slot_bits - 1)) return false;
  ring::Uint128 ones = 0;
  for (uint32_t l = 0; l < slots; ++l) ones += ring::Uint128{1} << (slot_bits * l);
  const ring::Uint128 largest =
      ((ones * sum_bound) << scale_bits) + (ring::Uint128{1} << (scale_bits - 1));
  return largest <= (ring::kModulusQ - 1) / 2;
}

namespace {

constexpr size_t kN = ring::kCompactDegree;

}  // namespace

void ExpandPayload(std::span<const uint8_t> public_seed, uint64_t j, std::span<uint64_t> a_ntt) {
  for (size_t prime = 0; prime < 2; ++prime) {
    ring::ExpandUniform(public_seed,
                        {.use = ring::UniformUse::kPayload,
                         .polynomial = static_cast<uint32_t>(j),
                         .prime = static_cast<uint8_t>(prime)},
                        a_ntt.subspan(prime * kN, kN));
  }
}

PayloadPolynomials::PayloadPolynomials(std::span<const uint8_t> public_seed, uint64_t polynomials)
    : polynomials_(polynomials) {
  std::ranges::copy(public_seed, seed_.begin());
  if (polynomials > kMaxKept) return;
  kept_.resize(2 * kN * polynomials);
  for (uint64_t j = 0; j < polynomials; ++j) {
    ExpandPayload(seed_, j, std::span(kept_).subspan(2 * kN * j, 2 * kN));
  }
}

bool PayloadPolynomials::AreOf(std::span<const uint8_t> public_seed, uint64_t polynomials) const {
  return polynomials_ == polynomials && std::ranges::equal(seed_, public_seed);
}

std::span<const uint64_t> PayloadPolynomials::At(uint64_t j, ring::AlignedWords& buffer) const {
  if (!kept_.empty()) return std::span(kept_).subspan(2 * kN * j, 2 * kN);
  buffer.resize(2 * kN);
  ExpandPayload(seed_, j, buffer);
  return buffer;
}

std::shared_ptr<const PayloadPolynomials> SharedPayloadPolynomials(
    std::span<const uint8_t> public_seed, uint64_t polynomials) {
  if (polynomials > kMaxSharedPolynomials) {
    return std::make_shared<const PayloadPolynomials>(public_seed, polynomials);
  }
  struct Last {
    base::Mutex mutex;
    std::shared_ptr<const PayloadPolynomials> polynomials ABSL_GUARDED_BY(mutex);
  };
  static Last& last = *new Last;
  // A caller that asks for the same meanwhile waits as long as it would take to expand them.
  const base::MutexLock lock(last.mutex);
  if (last.polynomials == nullptr || !last.polynomials->AreOf(public_seed, polynomials)) {
    last.polynomials = std::make_shared<const PayloadPolynomials>(public_seed, polynomials);
  }
  return last.polynomials;
}

}  // namespace tacet::he
