// Time of a seal of 486,654 values by the C++ library, for comparison with speed.py, which
// starts this program and has the same agreement.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "tacet/tacet.h"

namespace {

constexpr uint64_t kDimension = 486'654;
constexpr int kSeals = 40;

}  // namespace

int main() {
  std::vector<tacet::MemberKey> keys;
  tacet::AgreementOptions options;
  options.federation.rounds = 1;
  options.federation.noise_multiplier = 6;
  options.federation.coordinate_bound = 0.1;
  options.dimension = kDimension;
  for (int i = 0; i < 5; ++i) {
    keys.push_back(tacet::MemberKey::Generate());
    options.members.push_back(keys.back().public_key());
  }
  const tacet::Agreement agreement = tacet::Agreement::Create(options).value();
  const tacet::Client client =
      tacet::Client::Create(agreement, 0, keys[0], tacet::EpochKey::Generate()).value();
  std::vector<float> update(kDimension);
  for (uint64_t i = 0; i < kDimension; ++i) {
    update[i] = 1e-3F * static_cast<float>(i % 3) - 1e-3F;
  }
  std::vector<double> milliseconds;
  for (int i = 0; i < kSeals; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const tacet::SealedUpdate sealed = client.Seal({.round = 0}, update).value();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (sealed.upload.empty()) return 1;
    milliseconds.push_back(took.count());
  }
  std::ranges::sort(milliseconds);
  std::printf("%.4f\n", milliseconds[kSeals / 2]);
}
