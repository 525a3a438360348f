// Vector conversion between residues and whole coefficients mod Q, for sealing and decrypting.
//
// A number T of up to 127 bits is L + 2^38 S, both signed words, S known mod 2^64 only. That is
// enough: 2^38 divides p0 - 1 = 2^38 (2^12 - 1), so p0 d = d + 2^38 (4096 d - d), and what is
// wanted, T mod Q, is determined by T mod 2^102 and by floor(T / Q), which a sum of doubles gives.
//
// No include guard: kernels_simd.cc and kernels_ifma.cc include this once for each target.

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"

#include "tacet/ring/crt.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/sampling.h"

TACET_RING_BEFORE_NAMESPACE();
namespace tacet::ring::TACET_RING_NAMESPACE {

using U32 = hn::Rebind<uint32_t, U>;

constexpr int kLowBits = 38;
constexpr uint64_t kLowMask = (uint64_t{1} << kLowBits) - 1;
static_assert((kPrime0 - 1) >> kLowBits == 4095 && ((kPrime0 - 1) & kLowMask) == 0);

// Q = 2^38 kHighQ - kBelowQ.
constexpr uint64_t kBelowQ = (0 - static_cast<uint64_t>(kModulusQ)) & kLowMask;
constexpr uint64_t kHighQ = static_cast<uint64_t>((kModulusQ + kBelowQ) >> kLowBits);
static_assert(kBelowQ < 1 << 18 && kHighQ < uint64_t{1} << 62);
constexpr double kInverseQ = 1.0 / static_cast<double>(kModulusQ);

// A number mod 2^102 as L + 2^38 S.
struct Wide {
  Words low;
  Words high;
};
// A public constant in that form. L starts at 2^61 (taken out of S), so that it never becomes
// negative: nothing below adds or subtracts more than 2^61.
constexpr uint64_t kLowBias = uint64_t{1} << 61;
struct WideConstant {
  constexpr explicit WideConstant(Uint128 value)
      : low((static_cast<uint64_t>(value) & kLowMask) + kLowBias),
        high(static_cast<uint64_t>(value >> kLowBits) - (kLowBias >> kLowBits)) {}
  uint64_t low;
  uint64_t high;
};

// Carries from L to S; 0 <= L < 2^38 after it.
HWY_INLINE void Normalise(Wide& x) {
  x.high = x.high + hn::ShiftRight<kLowBits>(x.low);
  x.low = hn::And(x.low, Word(kLowMask));
}

// T mod Q for 0 <= T < 2^26 Q, T given mod 2^102; `share` is T / Q - 1/2 - 2^-20 within 2^-21. Its
// rounding n is floor(T / Q) or one less, so that T - n Q is in [0, 2Q) and then reduced once.
HWY_INLINE Wide ReduceModQ(Wide x, Doubles share) {
  const auto n = hn::BitCast(hn::RepartitionToNarrow<U>(), share + Double(kRounder));
  const auto times = [&n](uint32_t constant) {
    return hn::MulEven(n, hn::BitCast(hn::RepartitionToNarrow<U>(), Word(constant)));
  };
  x.low = x.low + times(kBelowQ);
  x.high = x.high - times(static_cast<uint32_t>(kHighQ)) -
           hn::ShiftLeft<32>(times(static_cast<uint32_t>(kHighQ >> 32)));
  Normalise(x);
  // L - L(Q) and S - S(Q), with the borrow as -1.
  constexpr uint64_t kLow = static_cast<uint64_t>(kModulusQ) & kLowMask;
  constexpr uint64_t kHigh = static_cast<uint64_t>(kModulusQ >> kLowBits);
  const Words low = x.low - Word(kLow);
  const Words high = x.high - Word(kHigh) + SignMask(low);
  const auto below = hn::Lt(hn::BitCast(I(), high), hn::Zero(I()));
  x.low = hn::IfThenElse(hn::RebindMask(U(), below), x.low, hn::And(low, Word(kLowMask)));
  x.high = hn::IfThenElse(hn::RebindMask(U(), below), x.high, high);
  return x;
}

// x0 + p0 d plus a constant.
HWY_INLINE Wide FromGarner(const Garner& garner, const WideConstant& constant) {
  return {garner.x0 + garner.d + Word(constant.low),
          hn::ShiftLeft<12>(garner.d) - garner.d + Word(constant.high)};
}

// Position of the bits kappa + w l ... of a slot in L + 2^38 S.
struct SlotPlace {
  enum Where { kLow, kAcross, kHigh } where;
  int shift;      // from bit 0 of L (kLow, kAcross) or S
  double over_q;  // 2^(kappa + w l) / Q
};
class SlotPlaces {
 public:
  // For values of `width` bits; those that end at bit `low_end` at most are low.
  SlotPlaces(const SlotLayout& layout, uint32_t width, uint32_t low_end) : slots_(layout.slots) {
    for (uint32_t l = 0; l < layout.slots; ++l) {
      const uint32_t bit = layout.scale_bits + layout.slot_bits * l;
      SlotPlace& place = places_[l];
      place.where = bit >= kLowBits          ? SlotPlace::kHigh
                    : bit + width <= low_end ? SlotPlace::kLow
                                             : SlotPlace::kAcross;
      place.shift = static_cast<int>(place.where == SlotPlace::kHigh ? bit - kLowBits : bit);
      place.over_q = static_cast<double>(Uint128{1} << bit) * kInverseQ;
    }
  }
  HWY_INLINE size_t slots() const { return slots_; }
  HWY_INLINE const SlotPlace& operator[](size_t slot) const { return places_[slot]; }

 private:
  std::array<SlotPlace, kMaxSlots> places_;
  size_t slots_;
};

// Adds 2^(kappa + w l) value; value < 2^32.
HWY_INLINE void AddSlot(Words value, const SlotPlace& place, Wide& x, Doubles& share) {
  switch (place.where) {
    case SlotPlace::kLow:
      x.low = x.low + hn::ShiftLeftSame(value, place.shift);
      return;
    case SlotPlace::kAcross:
      x.low = x.low + hn::And(hn::ShiftLeftSame(value, place.shift), Word(kLowMask));
      x.high = x.high + hn::ShiftRightSame(value, kLowBits - place.shift);
      return;
    case SlotPlace::kHigh:
      x.high = x.high + hn::ShiftLeftSame(value, place.shift);
      share = hn::MulAdd(ToDouble(value), Double(place.over_q), share);
      return;
  }
}

// Bits kappa + w l ... of x, 0 <= L < 2^38, not yet cut to w bits.
HWY_INLINE Words TakeSlot(const Wide& x, const SlotPlace& place) {
  switch (place.where) {
    case SlotPlace::kLow:
      return hn::ShiftRightSame(x.low, place.shift);
    case SlotPlace::kAcross:
      return hn::Or(hn::ShiftRightSame(x.low, place.shift),
                    hn::ShiftLeftSame(x.high, kLowBits - place.shift));
    case SlotPlace::kHigh:
      break;
  }
  return hn::ShiftRightSame(x.high, place.shift);
}

// Slot l of kLanes coefficients, for all l; `staging` holds kMaxSlots kLanes words. kCommon is the
// number of slots when it is 2, 3 or 4, else 0.
template <size_t kCommon>
HWY_INLINE void LoadSlots(const uint32_t* counts, size_t slots, uint64_t* staging) {
  if constexpr (kCommon == 0) {
    for (size_t i = 0; i < kLanes; ++i) {
      for (size_t l = 0; l < slots; ++l) staging[l * kLanes + i] = *counts++;
    }
  } else {
    hn::Vec<U32> slot[4];
    if constexpr (kCommon == 2) hn::LoadInterleaved2(U32(), counts, slot[0], slot[1]);
    if constexpr (kCommon == 3) hn::LoadInterleaved3(U32(), counts, slot[0], slot[1], slot[2]);
    if constexpr (kCommon == 4) {
      hn::LoadInterleaved4(U32(), counts, slot[0], slot[1], slot[2], slot[3]);
    }
    for (size_t l = 0; l < kCommon; ++l) {
      hn::StoreU(hn::PromoteTo(U(), slot[l]), U(), staging + l * kLanes);
    }
  }
}

template <size_t kCommon>
HWY_INLINE void StoreSlots(const uint64_t* staging, size_t slots, uint64_t* sums) {
  if constexpr (kCommon == 0) {
    for (size_t i = 0; i < kLanes; ++i) {
      for (size_t l = 0; l < slots; ++l) *sums++ = staging[l * kLanes + i];
    }
  } else {
    Words slot[4];
    for (size_t l = 0; l < kCommon; ++l) slot[l] = hn::LoadU(U(), staging + l * kLanes);
    if constexpr (kCommon == 2) hn::StoreInterleaved2(slot[0], slot[1], U(), sums);
    if constexpr (kCommon == 3) hn::StoreInterleaved3(slot[0], slot[1], slot[2], U(), sums);
    if constexpr (kCommon == 4) {
      hn::StoreInterleaved4(slot[0], slot[1], slot[2], slot[3], U(), sums);
    }
  }
}

// Scratch memory: the two products, then words for the vector at the end of the coefficients.
struct Scratch {
  explicit Scratch(const ProductModQ& product)
      : product0(product.scratch),
        product1(product0 + product.tables[0]->degree),
        staging(product1 + product.tables[0]->degree),
        words(staging + kMaxSlots * kLanes),
        values(words + 4 * kLanes) {
    for (size_t r = 0; r < 2; ++r) {
      MultiplyInverseLazy(*product.tables[r], product.a_ntt[r], product.k_factors[r],
                          r == 0 ? product0 : product1);
    }
  }
  uint64_t* product0;
  uint64_t* product1;
  uint64_t* staging;  // kMaxSlots kLanes
  uint64_t* words;    // 4 kLanes
  uint64_t* values;   // kMaxSlots kLanes
};
static_assert(ScratchWords(0) >= (2 * kMaxSlots + 4) * kLanes);

class Sealing {
 public:
  HWY_INLINE explicit Sealing(const SealJob& job)
      // Low slots add up to less than 2^61.
      : places_(job.layout, 32, 60),
        // + Q keeps the whole positive: a k > -Q (field_fma), e >= -21.
        constant_(kModulusQ + job.shift - kErrorBound),
        share_(Double(0.5 - 0x1p-20 + static_cast<double>(job.shift) * kInverseQ)) {}

  // c of kLanes coefficients as three planes.
  template <size_t kCommon>
  HWY_INLINE void operator()(const uint64_t* product0, const uint64_t* product1,
                             const uint64_t* error_words, const uint32_t* counts, uint64_t* staging,
                             uint8_t* low, uint8_t* middle, uint8_t* high) const {
    LoadSlots<kCommon>(counts, places_.slots(), staging);
    const Garner garner = composer_.Compose(Field::Load(product0), Field::Load(product1));
    Wide c = FromGarner(garner, constant_);
    c.low = c.low + PopCount(hn::And(hn::LoadU(U(), error_words), Word(kErrorMask)));
    Doubles share = garner.share + share_;
    const size_t slots = kCommon == 0 ? places_.slots() : kCommon;
    for (size_t l = 0; l < slots; ++l) {
      AddSlot(hn::LoadU(U(), staging + l * kLanes), places_[l], c, share);
    }
    c = ReduceModQ(c, share);
    // Bits 4, 36 and 68 on.
    StoreWords(hn::ShiftRight<4>(c.low), low);
    StoreWords(hn::Or(hn::ShiftRight<36>(c.low), hn::ShiftLeft<2>(c.high)), middle);
    StoreWords(hn::ShiftRight<30>(c.high), high);
  }

 private:
  static HWY_INLINE void StoreWords(Words words, uint8_t* bytes) {
    hn::StoreU(hn::TruncateTo(U32(), words), U32(), reinterpret_cast<uint32_t*>(bytes));
  }

  SlotPlaces places_;
  WideConstant constant_;
  Composer composer_;
  Doubles share_;
};

template <size_t kCommon>
HWY_INLINE void SealSlots(const SealJob& job, const Scratch& scratch) {
  const Sealing sealing(job);
  const size_t slots = job.layout.slots;
  uint8_t* const low = job.planes;
  uint8_t* const middle = low + 4 * job.used;
  uint8_t* const high = middle + 4 * job.used;
  // Coefficients with all their counts.
  const size_t full = std::min(job.used, job.counts.size() / slots);
  size_t i = 0;
  for (; i + kLanes <= full; i += kLanes) {
    sealing.template operator()<kCommon>(
        scratch.product0 + i, scratch.product1 + i, job.error_words + i,
        job.counts.data() + i * slots, scratch.staging, low + 4 * i, middle + 4 * i, high + 4 * i);
  }
  for (; i < job.used; i += kLanes) {
    const size_t rest = std::min(kLanes, job.used - i);
    const size_t first = std::min(i * slots, job.counts.size());
    const size_t counts = std::min(kLanes * slots, job.counts.size() - first);
    auto* const padded = reinterpret_cast<uint32_t*>(scratch.values);
    std::fill_n(padded, kLanes * slots, 0u);
    std::copy_n(job.counts.data() + first, counts, padded);
    std::fill_n(scratch.words, kLanes, uint64_t{0});
    std::copy_n(job.error_words + i, rest, scratch.words);
    auto* const planes = reinterpret_cast<uint8_t*>(scratch.words + kLanes);
    sealing.template operator()<kCommon>(scratch.product0 + i, scratch.product1 + i, scratch.words,
                                         padded, scratch.staging, planes, planes + 4 * kLanes,
                                         planes + 8 * kLanes);
    std::memcpy(low + 4 * i, planes, 4 * rest);
    std::memcpy(middle + 4 * i, planes + 4 * kLanes, 4 * rest);
    std::memcpy(high + 4 * i, planes + 8 * kLanes, 4 * rest);
  }
}

void Seal(const SealJob& job) {
  const Scratch scratch(job.product);
  switch (job.layout.slots) {
    case 2:
      return SealSlots<2>(job, scratch);
    case 3:
      return SealSlots<3>(job, scratch);
    case 4:
      return SealSlots<4>(job, scratch);
    default:
      return SealSlots<0>(job, scratch);
  }
}

// floor((centred(t) + 2^(kappa-1)) / 2^kappa) in slots: with h = (Q-1)/2 and T = t + h mod Q, the
// centred phase is T - h; adding 2^(kappa + w l + w - 1) for every slot makes its signed slots the
// plain bit fields of T + (constant), less 2^(w-1) each.
constexpr Uint128 kHalfQ = (kModulusQ - 1) / 2;
inline Uint128 FieldConstant(const SlotLayout& layout) {
  Uint128 constant = (Uint128{1} << (layout.scale_bits - 1)) - kHalfQ;
  for (uint32_t l = 0; l < layout.slots; ++l) {
    constant += Uint128{1} << (layout.scale_bits + layout.slot_bits * (l + 1) - 1);
  }
  return constant;
}

class Decrypting {
 public:
  HWY_INLINE Decrypting(const DecryptJob& job, Uint128 shift)
      : places_(job.layout, job.layout.slot_bits, kLowBits),
        mask_((uint64_t{1} << job.layout.slot_bits) - 1),
        // Q more keeps the whole positive.
        before_(kModulusQ + kHalfQ + shift),
        after_(FieldConstant(job.layout)),
        share_(Double(0.5 - 0x1p-20 + static_cast<double>(kHalfQ + shift) * kInverseQ)),
        offset_(job.offset - (uint64_t{1} << (job.layout.slot_bits - 1))) {}

  template <size_t kCommon>
  HWY_INLINE void operator()(const uint64_t* product0, const uint64_t* product1,
                             const uint8_t* residues0, const uint8_t* residues1, uint64_t* staging,
                             uint64_t* sums) const {
    const Garner garner = composer_.ComposeDifference(LoadWords(residues0), Field::Load(product0),
                                                      LoadWords(residues1), Field::Load(product1));
    Wide t = ReduceModQ(FromGarner(garner, before_), garner.share + share_);
    t.low = t.low + Word(after_.low);
    t.high = t.high + Word(after_.high);
    Normalise(t);
    const size_t slots = kCommon == 0 ? places_.slots() : kCommon;
    for (size_t l = 0; l < slots; ++l) {
      const Words sum = hn::And(TakeSlot(t, places_[l]), Word(mask_)) + Word(offset_);
      hn::StoreU(hn::AndNot(SignMask(sum), sum), U(), staging + l * kLanes);
    }
    StoreSlots<kCommon>(staging, places_.slots(), sums);
  }

 private:
  static HWY_INLINE Words LoadWords(const uint8_t* bytes) {
    return hn::LoadU(U(), reinterpret_cast<const uint64_t*>(bytes));
  }

  SlotPlaces places_;
  uint64_t mask_;
  WideConstant before_;
  WideConstant after_;
  Composer composer_;
  Doubles share_;
  uint64_t offset_;
};

template <size_t kCommon>
HWY_INLINE void DecryptSlots(const DecryptJob& job, const Scratch& scratch) {
  const size_t slots = job.layout.slots;
  const Decrypting decrypting(job, job.shift);
  size_t i = 0;
  // The last coefficient may have a shift of its own, and fewer sums.
  for (; i + kLanes < job.used; i += kLanes) {
    decrypting.template operator()<kCommon>(scratch.product0 + i, scratch.product1 + i,
                                            job.residues[0] + 8 * i, job.residues[1] + 8 * i,
                                            scratch.staging, job.sums.data() + i * slots);
  }
  const Decrypting last(job, job.shift + job.last_shift);
  for (const bool is_last : {false, true}) {
    const size_t rest = job.used - i - (is_last ? 0 : 1);
    if (rest == 0) continue;
    auto* const residues = reinterpret_cast<uint8_t*>(scratch.words);
    std::fill_n(scratch.words, 2 * kLanes, uint64_t{0});
    std::memcpy(residues, job.residues[0] + 8 * i, 8 * rest);
    std::memcpy(residues + 8 * kLanes, job.residues[1] + 8 * i, 8 * rest);
    (is_last ? last : decrypting)
        .template operator()<kCommon>(scratch.product0 + i, scratch.product1 + i, residues,
                                      residues + 8 * kLanes, scratch.staging, scratch.values);
    const size_t from = is_last ? (rest - 1) * slots : 0;
    const size_t end = std::min(rest * slots, job.sums.size() - i * slots);
    std::copy(scratch.values + from, scratch.values + end, job.sums.data() + i * slots + from);
  }
}

void Decrypt(const DecryptJob& job) {
  const Scratch scratch(job.product);
  switch (job.layout.slots) {
    case 2:
      return DecryptSlots<2>(job, scratch);
    case 3:
      return DecryptSlots<3>(job, scratch);
    case 4:
      return DecryptSlots<4>(job, scratch);
    default:
      return DecryptSlots<0>(job, scratch);
  }
}

using I8 = hn::Rebind<uint8_t, U>;

HWY_INLINE void StoreBytes(Words words, int8_t* values) {
  hn::StoreU(hn::TruncateTo(I8(), words), I8(), reinterpret_cast<uint8_t*>(values));
}

// floor(3 x / 2^64) counts how many of 2^64 / 3 and 2^65 / 3 are below x; -1 is all ones.
void Ternary(const uint64_t* words, size_t size, int8_t* values) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  const auto third = hn::BitCast(I(), Word(0x5555555555555555 ^ kSign));
  const auto two_thirds = hn::BitCast(I(), Word(0xaaaaaaaaaaaaaaaa ^ kSign));
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const auto x = hn::BitCast(I(), hn::Xor(hn::LoadU(U(), words + i), Word(kSign)));
    const auto sum = hn::VecFromMask(I(), hn::Gt(x, third)) +
                     hn::VecFromMask(I(), hn::Gt(x, two_thirds)) + hn::Set(I(), 1);
    StoreBytes(hn::Zero(U()) - hn::BitCast(U(), sum), values + i);
  }
  ScalarKernels().ternary(words + i, size - i, values + i);
}

void Error(const uint64_t* words, size_t size, int8_t* values) {
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const Words bits = PopCount(hn::And(hn::LoadU(U(), words + i), Word(kErrorMask)));
    StoreBytes(bits - Word(kErrorBound), values + i);
  }
  ScalarKernels().error(words + i, size - i, values + i);
}

bool AllBelow(uint64_t prime, const uint8_t* words, size_t size) {
  const Words largest = Word(prime - 1);
  Words bad = hn::Zero(U());
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const Words x = hn::LoadU(U(), reinterpret_cast<const uint64_t*>(words + 8 * i));
    // Above 2^63, or above the largest by less than 2^63: a top bit.
    bad = hn::Or(bad, hn::Or(x, largest - x));
  }
  const bool vectors = hn::AllFalse(I(), hn::Lt(hn::BitCast(I(), bad), hn::Zero(I())));
  return ScalarKernels().all_below(prime, words + 8 * i, size - i) && vectors;
}

constexpr uint64_t kUniformMask = (uint64_t{1} << kPrimeBits) - 1;

size_t SelectBelow(uint64_t prime, const uint64_t* words, size_t size, size_t wanted,
                   uint64_t* values) {
  const Words p = Word(prime);
  size_t found = 0;
  size_t i = 0;
  for (; i + kLanes <= size && found < wanted; i += kLanes) {
    const Words x = hn::And(hn::LoadU(U(), words + i), Word(kUniformMask));
    const auto kept = hn::Lt(hn::BitCast(I(), x), hn::BitCast(I(), p));
    if (HWY_LIKELY(hn::AllTrue(I(), kept))) {
      hn::StoreU(x, U(), values + found);
      found += kLanes;
      continue;
    }
    found += ScalarKernels().select_below(prime, words + i, kLanes, kLanes, values + found);
  }
  if (found < wanted) {
    found +=
        ScalarKernels().select_below(prime, words + i, size - i, wanted - found, values + found);
  }
  return std::min(found, wanted);
}

constexpr Kernels kKernels = {.target = TACET_RING_TARGET,
                              .lanes = kLanes,
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

}  // namespace tacet::ring::TACET_RING_NAMESPACE
TACET_RING_AFTER_NAMESPACE();
