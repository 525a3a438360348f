#include "tacet/crypto/aes_ctr_vaes.h"

#include <algorithm>
#include <cstring>

#include <immintrin.h>

#include "tacet/base/target_attributes.h"

TACET_BEFORE_NAMESPACE("aes,sse4.1,avx512f,avx512bw,vaes");
namespace tacet::crypto {
namespace {

constexpr size_t kRounds = 14;
constexpr size_t kRegisters = 8;  // of four blocks each, in flight
constexpr size_t kBatch = 4 * kRegisters;

uint64_t LoadBigEndian(const uint8_t* bytes) {
  uint64_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return __builtin_bswap64(value);
}

// The same 16 bytes four times. (The unmasked intrinsic has g++ 12 warn of its own undefined
// value.)
__m512i Broadcast(__m128i value) { return _mm512_maskz_broadcast_i32x4(0xffff, value); }

// FIPS 197, section 5.2: every second round key takes a rotation and a constant, the ones between
// only a substitution.
template <int round_constant, bool rotated>
__m128i NextRoundKey(__m128i before_last, __m128i last) {
  const __m128i assist = _mm_aeskeygenassist_si128(last, round_constant);
  const __m128i word = rotated ? _mm_shuffle_epi32(assist, 0xff) : _mm_shuffle_epi32(assist, 0xaa);
  __m128i key = before_last;
  key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
  key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
  return _mm_xor_si128(key, word);
}

void ExpandKey(const uint8_t* key, uint8_t* round_keys) {
  __m128i keys[kRounds + 1];
  keys[0] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key));
  keys[1] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(key + 16));
  keys[2] = NextRoundKey<0x01, true>(keys[0], keys[1]);
  keys[3] = NextRoundKey<0, false>(keys[1], keys[2]);
  keys[4] = NextRoundKey<0x02, true>(keys[2], keys[3]);
  keys[5] = NextRoundKey<0, false>(keys[3], keys[4]);
  keys[6] = NextRoundKey<0x04, true>(keys[4], keys[5]);
  keys[7] = NextRoundKey<0, false>(keys[5], keys[6]);
  keys[8] = NextRoundKey<0x08, true>(keys[6], keys[7]);
  keys[9] = NextRoundKey<0, false>(keys[7], keys[8]);
  keys[10] = NextRoundKey<0x10, true>(keys[8], keys[9]);
  keys[11] = NextRoundKey<0, false>(keys[9], keys[10]);
  keys[12] = NextRoundKey<0x20, true>(keys[10], keys[11]);
  keys[13] = NextRoundKey<0, false>(keys[11], keys[12]);
  keys[14] = NextRoundKey<0x40, true>(keys[12], keys[13]);
  std::memcpy(round_keys, keys, sizeof(keys));
  Wipe(keys, sizeof(keys));
}

// kBatch blocks of the counters (high, low), (high, low + 1), ..., of which low does not wrap.
void EncryptCounters(const __m512i* keys, uint64_t high, uint64_t low, uint8_t* out) {
  // Big-endian 128-bit counters: the bytes of (low, high) pairs reversed.
  const __m512i reverse =
      Broadcast(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  const auto pair = [&](uint64_t l) { return static_cast<long long>(l); };
  const long long h = static_cast<long long>(high);
  __m512i counter =
      _mm512_set_epi64(h, pair(low + 3), h, pair(low + 2), h, pair(low + 1), h, pair(low));
  const __m512i four = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
  __m512i block[kRegisters];
  for (size_t r = 0; r < kRegisters; ++r) {
    block[r] = _mm512_xor_si512(_mm512_shuffle_epi8(counter, reverse), keys[0]);
    counter = _mm512_add_epi64(counter, four);
  }
  for (size_t round = 1; round < kRounds; ++round) {
    for (size_t r = 0; r < kRegisters; ++r) block[r] = _mm512_aesenc_epi128(block[r], keys[round]);
  }
  for (size_t r = 0; r < kRegisters; ++r) {
    _mm512_storeu_si512(out + 64 * r, _mm512_aesenclast_epi128(block[r], keys[kRounds]));
  }
}

}  // namespace

VaesCtr::VaesCtr(std::span<const uint8_t> key, std::span<const uint8_t> counter)
    : round_keys_(VaesCtr::kBlockBytes * (kRounds + 1)),
      last_(kBlockBytes),
      counter_high_(LoadBigEndian(counter.data())),
      counter_low_(LoadBigEndian(counter.data() + 8)) {
  ExpandKey(key.data(), round_keys_.Expose().data());
}

void VaesCtr::FillBlocks(uint8_t* out, size_t blocks) {
  __m512i keys[kRounds + 1];
  const uint8_t* round_keys = round_keys_.Expose().data();
  for (size_t i = 0; i <= kRounds; ++i) {
    keys[i] =
        Broadcast(_mm_load_si128(reinterpret_cast<const __m128i*>(round_keys + kBlockBytes * i)));
  }
  alignas(64) uint8_t part[kBatch * kBlockBytes];
  while (blocks > 0) {
    // 2^64 - low counters are left before the low half wraps; the rest of that batch is not used.
    const uint64_t before_wrap = counter_low_ == 0 ? kBatch : uint64_t{0} - counter_low_;
    const size_t taken = std::min<uint64_t>({blocks, kBatch, before_wrap});
    if (taken == kBatch) {
      EncryptCounters(keys, counter_high_, counter_low_, out);
    } else {
      EncryptCounters(keys, counter_high_, counter_low_, part);
      std::memcpy(out, part, taken * kBlockBytes);
    }
    counter_low_ += taken;
    counter_high_ += counter_low_ == 0 ? 1 : 0;
    out += taken * kBlockBytes;
    blocks -= taken;
  }
  Wipe(part, sizeof(part));
  Wipe(keys, sizeof(keys));
}

void VaesCtr::Fill(std::span<uint8_t> bytes) {
  const std::span<uint8_t> last = last_.Expose();
  const auto take_last = [&] {
    const size_t taken = std::min(bytes.size(), kBlockBytes - last_used_);
    if (taken == 0) return;
    std::memcpy(bytes.data(), last.data() + last_used_, taken);
    last_used_ += taken;
    bytes = bytes.subspan(taken);
  };
  take_last();
  const size_t blocks = bytes.size() / kBlockBytes;
  if (blocks > 0) FillBlocks(bytes.data(), blocks);
  bytes = bytes.subspan(blocks * kBlockBytes);
  if (bytes.empty()) return;
  FillBlocks(last.data(), 1);
  last_used_ = 0;
  take_last();
}

}  // namespace tacet::crypto
TACET_AFTER_NAMESPACE();
