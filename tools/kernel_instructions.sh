#!/usr/bin/env bash
# Counts the instructions of kernels on both processors: scalar and NEON by the user emulator, scalar
# and AVX2 by valgrind. A count is that of the third run: three runs less two.
# usage: tools/kernel_instructions.sh BUILD SYSROOT NATIVE-BUILD
set -euo pipefail

[ $# = 3 ] || {
  echo "usage: tools/kernel_instructions.sh BUILD SYSROOT NATIVE-BUILD" >&2
  exit 2
}
on_arm64=$1/lib/secagg/tacet_kernel_program here=$3/lib/secagg/tacet_kernel_program
sysroot=$2

# Of the program itself, which the emulator puts at this address, without libraries.
count_on_arm64() { # SIMD KERNEL TIMES
  qemu-aarch64-static -L "$sysroot" -E TACET_SIMD="$1" -singlestep -d exec,nochain \
    -dfilter 0x5500000000+0x1000000 -D /dev/stdout "$on_arm64" "$2" "$3" | grep -c '^Trace'
}
count_here() { # SIMD KERNEL TIMES
  TACET_SIMD=$1 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$here" "$2" "$3" 2>&1 |
    sed -n 's/.*Collected : //p'
}
of_one_run() { # COUNT-FUNCTION SIMD KERNEL
  echo $(($("$1" "$2" "$3" 3) - $("$1" "$2" "$3" 2)))
}

printf '%-10s %12s %12s %12s %12s\n' kernel arm64-scalar neon x86-scalar avx2
for kernel in transform seal add mac normals counts clip; do
  printf '%-10s %12s %12s %12s %12s\n' $kernel \
    "$(of_one_run count_on_arm64 scalar $kernel)" "$(of_one_run count_on_arm64 neon $kernel)" \
    "$(of_one_run count_here scalar $kernel)" "$(of_one_run count_here avx2 $kernel)"
done
