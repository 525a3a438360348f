#include "tacet/base/cpu.h"

#include <cstdlib>
#include <fstream>
#include <optional>

#include <cpuid.h>

#include "tacet/base/status.h"

namespace tacet::base {
namespace {

std::optional<Simd> ParseSimd(std::string_view name) {
  if (name == "scalar") return Simd::kScalar;
  if (name == "avx2") return Simd::kAvx2;
  if (name == "avx512") return Simd::kAvx512;
  return std::nullopt;
}

Simd ChooseSimd() {
  const Simd detected = DetectedSimd();
  const char* wanted = std::getenv("TACET_SIMD");
  if (wanted == nullptr) return detected;
  const std::optional<Simd> parsed = ParseSimd(wanted);
  return parsed.has_value() && *parsed <= detected ? *parsed : detected;
}

}  // namespace

Simd DetectedSimd() {
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

bool HasVectorAes() {
  // Not among the names that clang 14 knows for __builtin_cpu_supports.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kVaes = 1u << 9;  // of leaf 7's ECX
  return DetectedSimd() == Simd::kAvx512 && __builtin_cpu_supports("aes") &&
         __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ecx & kVaes) != 0;
}

bool HasAvx512Ifma() {
  return DetectedSimd() == Simd::kAvx512 && __builtin_cpu_supports("avx512ifma") &&
         __builtin_cpu_supports("avx512vpopcntdq");
}

Simd ActiveSimd() {
  static const Simd active = ChooseSimd();
  return active;
}

std::string_view SimdName(Simd simd) {
  switch (simd) {
    case Simd::kScalar:
      return "scalar";
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
    return InvalidArgument("TACET_SIMD is \"{}\"; it must be scalar, avx2 or avx512", wanted);
  }
  if (*parsed > DetectedSimd()) {
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
