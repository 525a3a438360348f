#!/usr/bin/env bash
# Runs the tests of cryptography, mechanism and guarantees that were compiled for ARM processors of
# 64 bits under user emulation, and a whole round with each table of kernels.
# usage: tools/arm64_check.sh BUILD SYSROOT
set -euo pipefail

[ $# = 2 ] || {
  echo "usage: tools/arm64_check.sh BUILD SYSROOT" >&2
  exit 2
}
lib=$1/lib
emulator=(qemu-aarch64-static -L "$2")

# The emulator neither starts programs of its own kind nor passes on what keeps memory out of dumps.
not_emulated='*Dumps*:*DumpsTest.*:ActiveVersionTest.*:SimdEnvironmentTest.*:SecretBlocksTest.*'
not_emulated+=':*DeathTest.*'
# Games and campaigns find nothing of a processor, and take many minutes here.
too_long='CommitteeAttackTest.*:MacAttackTest.*:AbsentClientsTest.*:FixedSize*:RdpRandomTest.*'
too_long+=':PldRandomTest.*:RandomFederationsTest.*:TwoMemberAdversaryTest.*:PldAccountantTest.*'
too_long+=':PrivacyRowsTest.*:CalibrationTest.*:TermsChangesTest.*:KnownSizeTest.*'
too_long+=':PrivacyFilterTest.*'
for tests in base crypto ring dp he secagg accounting; do
  echo "arm64: ${tests}_tests"
  "${emulator[@]}" "$lib/$tests/${tests}_tests" --gtest_brief=1 \
    --gtest_filter="-$not_emulated:$too_long"
done
for simd in scalar neon; do
  echo "arm64: a round with TACET_SIMD=$simd"
  "${emulator[@]}" -E TACET_SIMD=$simd "$lib/secagg/secagg_bytes_tests" --gtest_brief=1
done
