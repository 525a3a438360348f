// Secure aggregation of two hospitals' updates: they learn the mean, and the server that adds the
// updates learns nothing.
//
// Everything runs in one process here. In a federation each block below runs on another machine,
// and only the byte strings `uploads`, `closed_round`, `votes` and `results` travel.
#include <cmath>
#include <cstdio>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/signing.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/result_collector.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/terms.h"

namespace {

using tacet::base::Bytes;

constexpr uint64_t kDimension = 1000;

absl::Status Run() {
  tacet::crypto::SystemEntropy entropy;

  // What both agree on: updates of norm at most 1, noise of deviation 2 in the sum, both must take
  // part. The plan refuses parameters that are unsafe or whose sums would not be exact.
  TACET_ASSIGN_OR_RETURN(
      const tacet::secagg::Terms terms,
      tacet::secagg::Terms::Create({.mechanism = {.dimension = kDimension,
                                                  .params = {.clip_norm = 1,
                                                             .coordinate_bound = 0.1,
                                                             .noise_stddev = 2,
                                                             .scale = 1e-4},
                                                  .cohort = 2,
                                                  .min_participants = 2,
                                                  .attempts = 1}}));
  // Which exchange this is. Every key, upload and signature is bound to it.
  const tacet::secagg::Attempt attempt{
      .manifest_hash = tacet::crypto::Sha256(tacet::base::AsBytes("our agreement"))};
  // What the members share and the server never sees.
  const tacet::crypto::SecretBytes epoch_key = entropy.Draw(32);
  const auto keys =
      tacet::secagg::DeriveAttemptKeys(epoch_key, terms.aggregation().scheme(), attempt);

  // Each member, beside its data: clip, noise, quantise, tag, encrypt.
  const std::vector<float> updates[2] = {std::vector<float>(kDimension, 0.02F),
                                         std::vector<float>(kDimension, -0.01F)};
  TACET_ASSIGN_OR_RETURN(const auto sealer, tacet::secagg::Sealer::Create(terms, attempt, keys));
  std::vector<Bytes> uploads;
  for (const std::vector<float>& update : updates) {
    TACET_ASSIGN_OR_RETURN(auto sealed, sealer->Seal(update, entropy));
    uploads.push_back(std::move(sealed.bytes));
  }

  // The server, without a key: adds what came and closes the sum.
  tacet::secagg::Aggregator aggregator(terms.aggregation(), attempt, terms.min_participants());
  for (uint64_t member = 0; member < 2; ++member) {
    TACET_RETURN_IF_ERROR(aggregator.Submit(member, uploads[member]));
  }
  TACET_ASSIGN_OR_RETURN(const Bytes closed_round, aggregator.Close());

  // The openers (both members, as there are so few) first sign what they were asked to open, and
  // open it only when a majority signed the same.
  std::vector<tacet::crypto::SigningKey> signing_keys;
  std::vector<tacet::secagg::OpenerIdentity> identities;
  for (uint64_t member = 0; member < 2; ++member) {
    signing_keys.push_back(tacet::crypto::SigningKey::Generate(entropy));
    identities.push_back({.member = member, .key = signing_keys.back().public_key()});
  }
  tacet::secagg::MemoryJournal journals[2];
  std::vector<std::unique_ptr<tacet::secagg::Opener>> openers;
  std::vector<Bytes> votes;
  for (uint64_t member = 0; member < 2; ++member) {
    TACET_ASSIGN_OR_RETURN(
        auto opener,
        tacet::secagg::Opener::Create(
            terms, attempt,
            tacet::secagg::DeriveAttemptKeys(epoch_key, terms.aggregation().scheme(), attempt),
            identities, member, signing_keys[member], journals[member], entropy));
    TACET_ASSIGN_OR_RETURN(Bytes vote, opener->Review(closed_round));
    votes.push_back(std::move(vote));
    openers.push_back(std::move(opener));
  }

  // Each member takes the sum that a majority of the openers returned.
  tacet::secagg::ResultCollector collector(terms.aggregation(), attempt, identities,
                                           keys.result_key);
  for (const auto& opener : openers) {
    TACET_ASSIGN_OR_RETURN(const Bytes result, opener->Open(votes));
    TACET_RETURN_IF_ERROR(collector.Offer(result));
  }
  if (!collector.agreed().has_value()) {
    return tacet::base::FailedPrecondition("the openers do not agree");
  }
  const tacet::secagg::OpenedSum& opened = *collector.agreed();
  std::vector<double> mean(kDimension);
  tacet::dp::Mechanism(terms.mechanism()).DecodeMean(opened.sums, opened.participants, mean);

  double average = 0;
  for (const double value : mean) average += value / static_cast<double>(kDimension);
  const double deviation = terms.mechanism().sum_stddev(2) / 2;
  std::printf("upload: %zu bytes for %zu values\n", uploads[0].size(), updates[0].size());
  std::printf("each value of the mean has noise of deviation %.3f\n", deviation);
  std::printf("average over all values: %.4f, without noise it were 0.0050\n", average);
  // The average of 1000 noisy values: seven deviations are passed once in 10^11 runs.
  const double allowed = 7 * deviation / std::sqrt(static_cast<double>(kDimension));
  if (std::abs(average - 0.005) > allowed) {
    return tacet::base::DataLoss("the mean is {}, further than {} from 0.005", average, allowed);
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", tacet::base::Message(status).c_str());
    return 1;
  }
  return 0;
}
