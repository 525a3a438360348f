#include "tacet/base/cpu.h"

#include <cstdlib>
#include <fstream>
#include <optional>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif !defined(__aarch64__)
#error "tacet is for x86-64 and for ARM processors of 64 bits"
#endif

#include "tacet/base/status.h"

namespace tacet::base {
namespace {

std::optional<Simd> ParseSimd(std::string_view name) {
  for (const Simd simd : {Simd::kScalar, Simd::kNeon, Simd::kAvx2, Simd::kAvx512}) {
    if (name == SimdName(simd)) return simd;
  }
  return std::nullopt;
}

// The level without which a target is not used.
Simd LevelOf(Target target) {
  switch (target) {
    case Target::kScalar:
      return Simd::kScalar;
    case Target::kNeon:
      return Simd::kNeon;
    case Target::kAvx2:
      return Simd::kAvx2;
    case Target::kAvx512:
    case Target::kAvx512Ifma:
    case Target::kAvx512Vaes:
    case Target::kAvx512Bf16:
    case Target::kAmxBf16:
      break;
  }
  return Simd::kAvx512;
}

#if defined(__x86_64__)

// Extensions that GCC 12 or clang 14 do not know in __builtin_cpu_supports: CPUID's leaf 7.
struct Leaf7 {
  unsigned ecx = 0, edx = 0;
};
Leaf7 ReadLeaf7() {
  Leaf7 leaf;
  unsigned eax = 0, ebx = 0;
  __get_cpuid_count(7, 0, &eax, &ebx, &leaf.ecx, &leaf.edx);
  return leaf;
}

bool HasVectorAes() {
  constexpr unsigned kVaes = 1u << 9;
  return __builtin_cpu_supports("aes") && (ReadLeaf7().ecx & kVaes) != 0;
}

bool HasTiles() {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return (ReadLeaf7().edx & (kBf16 | kTile)) == (kBf16 | kTile) &&
         syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

Simd DetectLevel() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    return Simd::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return Simd::kAvx2;
  }
  return Simd::kScalar;
}

bool HasLevel(Simd simd) { return simd <= DetectedSimd() && simd != Simd::kNeon; }

// For a target whose level the processor has.
bool HasExtension(Target target) {
  switch (target) {
    case Target::kAvx512Ifma:
      return __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vpopcntdq");
    case Target::kAvx512Vaes: {
      // CPUID takes microseconds in a virtual machine.
      static const bool has = HasVectorAes();
      return has;
    }
    case Target::kAvx512Bf16:
      return __builtin_cpu_supports("avx512bf16");
    case Target::kAmxBf16: {
      static const bool has = HasTiles();
      return has;
    }
    default:
      return true;
  }
}

#else

Simd DetectLevel() { return Simd::kNeon; }
bool HasLevel(Simd simd) { return simd <= Simd::kNeon; }
bool HasExtension(Target) { return true; }

#endif

Simd ChooseSimd() {
  const Simd detected = DetectedSimd();
  const char* wanted = std::getenv("TACET_SIMD");
  if (wanted == nullptr) return detected;
  const std::optional<Simd> parsed = ParseSimd(wanted);
  return parsed.has_value() && HasLevel(*parsed) ? *parsed : detected;
}

}  // namespace

Simd DetectedSimd() { return DetectLevel(); }

Simd ActiveSimd() {
  static const Simd active = ChooseSimd();
  return active;
}

bool HasTarget(Target target) { return HasLevel(LevelOf(target)) && HasExtension(target); }

bool MayUse(Target target) {
  if (target == Target::kAmxBf16 && std::getenv("TACET_SIMD") != nullptr) return false;
  return LevelOf(target) <= ActiveSimd() && HasTarget(target);
}

std::string_view TargetName(Target target) {
  switch (target) {
    case Target::kScalar:
    case Target::kNeon:
    case Target::kAvx2:
    case Target::kAvx512:
      return SimdName(LevelOf(target));
    case Target::kAvx512Ifma:
      return "avx512-ifma";
    case Target::kAvx512Vaes:
      return "avx512-vaes";
    case Target::kAvx512Bf16:
      return "avx512-bf16";
    case Target::kAmxBf16:
      return "amx-bf16";
  }
  return "unknown";
}

std::string_view SimdName(Simd simd) {
  switch (simd) {
    case Simd::kScalar:
      return "scalar";
    case Simd::kNeon:
      return "neon";
    case Simd::kAvx2:
      return "avx2";
    case Simd::kAvx512:
      return "avx512";
  }
  return "unknown";
}

absl::Status CheckSimdEnvironment() {
  const char* wanted = std::getenv("TACET_SIMD");
  if (wanted == nullptr) return absl::OkStatus();
  const std::optional<Simd> parsed = ParseSimd(wanted);
  if (!parsed.has_value()) {
    return InvalidArgument("TACET_SIMD is \"{}\"; it must be scalar, neon, avx2 or avx512", wanted);
  }
  if (!HasLevel(*parsed)) {
    return InvalidArgument("TACET_SIMD asks for {}, this processor offers {}", wanted,
                           SimdName(DetectedSimd()));
  }
  return absl::OkStatus();
}

std::string CpuModelName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) {
      if (const size_t colon = line.find(": "); colon != std::string::npos) {
        return line.substr(colon + 2);
      }
    }
  }
  return "unknown";
}

}  // namespace tacet::base
