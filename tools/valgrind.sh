#!/usr/bin/env bash
# Runs test binaries under valgrind; a wrong access or a definite leak is an error.
# usage: tools/valgrind.sh BUILD_FOLDER NAME...
set -euo pipefail
build=$1
shift
# Death tests end in abort() with everything still allocated: not a leak of ours. valgrind has no
# AVX-512, and computes extended precision, which one test measures against, as double.
leave_out='*DeathTest*:SimdEnvironment*:PrecisionTest.BordersOfCandidatesAreRightToAFewRoundings'
# libcrypto's AVX code keeps intermediate values on its stack in a way that valgrind takes for
# uninitialised; without AVX it computes the same, as the test vectors of base show, in silence.
export OPENSSL_ia32cap='~0x1000000000000000:0'
for name in "$@"; do
  binary=$(find "$build" -type f -name "$name" -perm -u+x -print -quit)
  [ -n "$binary" ] || { echo "valgrind: no binary $name in $build" >&2; exit 1; }
  echo "valgrind: $name"
  valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
    --child-silent-after-fork=yes "$binary" --gtest_brief=1 --gtest_filter="-$leave_out"
done
