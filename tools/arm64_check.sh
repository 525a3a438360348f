#!/usr/bin/env bash
# Runs the tests of cryptography, mechanism and guarantees that were compiled for ARM processors of
# 64 bits under user emulation, a whole round with each table of kernels, and rounds whose steps run
# on both processors.
# usage: tools/arm64_check.sh BUILD SYSROOT NATIVE-BUILD
set -euo pipefail

[ $# = 3 ] || {
  echo "usage: tools/arm64_check.sh BUILD SYSROOT NATIVE-BUILD" >&2
  exit 2
}
lib=$1/lib native=$3/lib
emulator=(qemu-aarch64-static -L "$2")

# The emulator neither starts programs of its own kind nor passes on what keeps memory out of dumps.
left_out=('*Dumps*' '*DumpsTest.*' ActiveVersionTest.* SimdEnvironmentTest.* SecretBlocksTest.*
  '*DeathTest.*')
# Games, campaigns and laws of many draws find nothing of a processor, and take minutes here.
left_out+=(CommitteeAttackTest.* MacAttackTest.* AggregateBoundTest.* KnownSizeTest.*
  PairMasksTest.TheAccumulator* CertificatesTest.EveryChanged* ShareCheckTest.NoSetOf*
  DiscreteLaplaceTest.SharesAdd* DiscreteLaplaceTest.NoShare* LaplaceMechanismTest.ACount*
  LaplaceMechanismTest.HonestSums* LaplaceMechanismTest.TheDrawnLaw* SumLimitsTest.Honest*
  TagPolynomialTest.SumOfIndependent*)
# Exact references in 200 bits, in four times the precision of a double, or in time n².
left_out+=(PoissonTest.ExactTest* PoissonTest.Acceptance* PoissonTest.Hat* PrecisionTest.BordersOf*
  PrecisionTest.RoundingOf* '*Product*p0_8192')
# Integrals and grids of the accountants, which are plain loops over doubles.
left_out+=(AbsentClientsTest.* FixedSize* RdpAccountantTest.Real* RdpAccountantTest.TheEnvelopes*
  PldAccountantTest.* PrivacyRowsTest.* CalibrationTest.* TermsChangesTest.* PrivacyFilterTest.*
  GuaranteeLimitsTest.* EpsilonBoundsTest.* MomentsAccountantTest.Extremes*
  MomentsAccountantTest.*Grid PureReleasesTest.ManySums* PureReleasesTest.GaussianAnd*
  LossLatticeTest.AnAdversary* LossLatticeTest.FewerDots* TruePositiveRateTest.Reproduces*
  RoundLossTest.TheWorst*)
filter=$(IFS=:; echo "-${left_out[*]}")
for tests in base crypto ring dp he secagg accounting; do
  echo "arm64: ${tests}_tests"
  "${emulator[@]}" "$lib/$tests/${tests}_tests" --gtest_brief=1 --gtest_filter="$filter"
done
for simd in scalar neon; do
  echo "arm64: a round with TACET_SIMD=$simd"
  "${emulator[@]}" -E TACET_SIMD=$simd "$lib/secagg/secagg_bytes_tests" --gtest_brief=1
done

rounds=$(mktemp -d)
trap 'rm -rf "$rounds"' EXIT
on_arm64() { "${emulator[@]}" "$lib/secagg/tacet_round_program" "$@"; }
here() { "$native/secagg/tacet_round_program" "$@"; }
for direction in "on_arm64 here" "here on_arm64"; do
  read -r seals adds <<< "$direction"
  echo "arm64: a round sealed ${seals/_/ }, added ${adds/_/ }, decrypted on both"
  folder=$rounds/$seals
  mkdir "$folder"
  $seals seal "$folder"
  $adds add "$folder"
  on_arm64 decrypt "$folder" > "$folder/sums"
  here decrypt "$folder" | cmp - "$folder/sums"
  [ "$(wc -c < "$folder/sums")" = 160000 ]
done
diff -r "$rounds/on_arm64" "$rounds/here"
