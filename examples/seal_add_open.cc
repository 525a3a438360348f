// Secure aggregation of two hospitals' updates: they learn the mean, and the server that adds the
// updates learns nothing.
//
// Everything runs in one process here. In a federation each block below runs on another machine,
// and only the byte strings `uploads`, `closed`, `votes` and `shares` travel.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/signing.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/committee_member.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/round_decryption.h"
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
                                                  .attempts = 1},
                                    .committee = {.seats = 2}}));
  // Which exchange this is. Every key, upload and signature is bound to it.
  const tacet::secagg::Attempt attempt{
      .manifest_hash = tacet::crypto::Sha256(tacet::base::AsBytes("our agreement"))};
  // What the members share and the server never sees.
  const tacet::crypto::SecretBytes epoch_key = entropy.Draw(32);
  const auto keys =
      tacet::secagg::DeriveAttemptKeys(epoch_key, terms.aggregation().scheme(), attempt);

  // Every member's keys. Both members are on the committee, as there are so few; the public halves
  // belong into the agreement.
  std::vector<tacet::crypto::SigningKey> signing_keys;
  std::vector<tacet::crypto::ExchangeKey> exchange_keys;
  tacet::secagg::Committee committee;
  for (uint64_t member = 0; member < 2; ++member) {
    signing_keys.push_back(tacet::crypto::SigningKey::Generate(entropy));
    exchange_keys.push_back(tacet::crypto::ExchangeKey::Generate(entropy));
    committee.push_back({.member = member,
                         .signing_key = signing_keys.back().public_key(),
                         .exchange_key = exchange_keys.back().public_key()});
  }
  // A client and a seat derive the same key, each from its own half and the other's public one.
  const auto pair_key = [&](uint64_t own, uint64_t other, uint64_t client,
                            uint32_t seat) -> absl::StatusOr<tacet::crypto::SecretBytes> {
    TACET_ASSIGN_OR_RETURN(const auto agreed,
                           exchange_keys[own].Agree(committee[other].exchange_key));
    return tacet::secagg::DerivePairKey(
        agreed, epoch_key,
        {.manifest_hash = attempt.manifest_hash, .client = client, .seat = seat});
  };

  // Each member, beside its data: clip, noise, quantise, encrypt, share the one-time key,
  // authenticate.
  const std::vector<float> updates[2] = {std::vector<float>(kDimension, 0.02F),
                                         std::vector<float>(kDimension, -0.01F)};
  TACET_ASSIGN_OR_RETURN(const auto sealer, tacet::secagg::Sealer::Create(terms, attempt, keys));
  std::vector<tacet::secagg::SealedUpload> uploads;
  for (uint64_t member = 0; member < 2; ++member) {
    tacet::crypto::SecretBytes pair_keys(2 * tacet::secagg::kPairKeyBytes);
    for (uint32_t seat = 0; seat < 2; ++seat) {
      TACET_ASSIGN_OR_RETURN(const auto key, pair_key(member, seat, member, seat));
      std::ranges::copy(key.Expose(),
                        pair_keys.Expose().subspan(tacet::secagg::kPairKeyBytes * seat).begin());
    }
    TACET_ASSIGN_OR_RETURN(auto sealed, sealer->Seal(updates[member], pair_keys, entropy));
    uploads.push_back(std::move(sealed));
  }

  // The server, without a key: adds what came and closes the sum.
  tacet::secagg::Aggregator aggregator(terms.aggregation(), attempt, terms.min_participants());
  for (uint64_t member = 0; member < 2; ++member) {
    TACET_RETURN_IF_ERROR(aggregator.Submit(member, uploads[member].bytes));
  }
  TACET_ASSIGN_OR_RETURN(const auto closed, aggregator.Close(entropy));

  // The committee: each member votes for one sum, and gives its unmask share once enough have.
  tacet::secagg::MemoryJournal journals[2];
  std::vector<tacet::secagg::PairKeyOf> pair_key_of;
  for (uint32_t seat = 0; seat < 2; ++seat) {
    pair_key_of.push_back(
        [&pair_key, seat](uint64_t client) { return pair_key(seat, client, client, seat); });
  }
  std::vector<tacet::secagg::CommitteeMember> members;
  std::vector<Bytes> votes;
  for (uint32_t seat = 0; seat < 2; ++seat) {
    members.emplace_back(
        tacet::secagg::CommitteeMemberParts{.terms = terms,
                                            .committee = committee,
                                            .signing_key = signing_keys[seat],
                                            .result_key = keys.result_key,
                                            .pair_key_of = pair_key_of[seat],
                                            .journal = journals[seat],
                                            .entropy = entropy},
        attempt, seat, 2,
        tacet::secagg::OwnUpload{.nonce = uploads[seat].nonce, .acknowledged = true});
    TACET_ASSIGN_OR_RETURN(Bytes vote, members.back().Vote(closed.closed_round, closed.roster));
    votes.push_back(std::move(vote));
  }
  std::vector<Bytes> shares;
  for (tacet::secagg::CommitteeMember& member : members) {
    TACET_ASSIGN_OR_RETURN(Bytes share, member.Unmask(votes));
    shares.push_back(std::move(share));
  }

  // Every member: decrypts the aggregate and checks it.
  TACET_ASSIGN_OR_RETURN(
      const auto decrypted,
      tacet::secagg::DecryptRound(
          terms, committee, attempt, keys,
          {.closed_round = closed.closed_round, .votes = votes, .unmask_shares = shares}));
  const tacet::secagg::Aggregate& aggregate = decrypted.aggregate;
  std::vector<double> mean(kDimension);
  tacet::dp::Mechanism(terms.mechanism()).DecodeMean(aggregate.sums, aggregate.participants, mean);

  double average = 0;
  for (const double value : mean) average += value / static_cast<double>(kDimension);
  const double deviation = terms.mechanism().sum_stddev(2) / 2;
  std::printf("upload: %zu bytes for %zu values\n", uploads[0].bytes.size(), updates[0].size());
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
