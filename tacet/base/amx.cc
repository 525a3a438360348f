#include "tacet/base/amx.h"

#include <cstdlib>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tacet/base/cpu.h"

namespace tacet::base {

bool HasAmxBf16() {
  static const bool has = [] {
    // Not among the names that GCC 12 knows for __builtin_cpu_supports.
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;  // of leaf 7's EDX
    constexpr long kRequestPermission = 0x1023;             // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;
    return std::getenv("TACET_SIMD") == nullptr && DetectedSimd() == Simd::kAvx512 &&
           __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
           (edx & (kBf16 | kTile)) == (kBf16 | kTile) &&
           syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return has;
}

}  // namespace tacet::base
