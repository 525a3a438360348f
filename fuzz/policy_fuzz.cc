// A site's policy and its signature: the first byte says how many bytes of the rest are the
// signature.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_officer.h"
#include "tacet/base/bytes.h"
#include "tacet/config/policy_file.h"
#include "tacet/policy/policy_signature.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  if (size < 1) return 0;
  const std::span<const uint8_t> rest(data + 1, size - 1);
  const size_t split = std::min<size_t>(rest.size(), data[0]);
  const auto signature = rest.first(split), text = rest.subspan(split);

  const crypto::SigningKey officer = fuzz::FuzzOfficer();
  const bool is_signed = policy::CheckPolicySignature(text, signature, officer.public_key()).ok();
  // Nobody signs but the officer, whose signature is always the same.
  if (is_signed && !std::ranges::equal(signature, policy::SignPolicy(text, officer))) std::abort();
  const auto policy = config::ParseSitePolicy(base::AsText(text), "fuzz");
  if (!policy.ok()) return 0;
  const bool limits =
      policy->epsilon_per_year > 0 && std::isfinite(policy->epsilon_per_year) &&
      policy->delta > 0 && policy->delta < 1 && policy->serial >= 1 && !policy->sites.empty() &&
      !policy->units.empty() && !policy->neighbouring.empty() && !policy->noise_laws.empty() &&
      !policy->columns.empty() && ledger::CheckPopulation(policy->population).ok() &&
      !policy->kinds.empty() && policy->floor >= 0 && std::isfinite(policy->floor) &&
      policy->accepted_epsilon.value_or(1) > 0;
  if (!limits) std::abort();
  return 0;
}
