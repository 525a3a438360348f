// Secure aggregation of two hospitals' updates: they learn the noised sum, and the server that adds
// the updates learns nothing.
//
// Everything runs in one process here. In a federation the clients, the server and the committee
// run on different machines. Only byte strings travel: uploads, closed round, roster, votes and
// unmask shares.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "tacet/tacet.h"

namespace {

constexpr uint64_t kDimension = 1000;

// The agreement. Refused if it is unsafe, or if sums would not be exact.
tacet::AgreementOptions Options(const std::vector<tacet::MemberKey>& keys) {
  tacet::AgreementOptions options;
  options.federation.rounds = 1;
  options.federation.clip_norm = 1;
  options.federation.noise_multiplier = 2;
  options.dimension = kDimension;
  for (const tacet::MemberKey& key : keys) options.members.push_back(key.public_key());
  return options;
}

}  // namespace

int main() {
  // Each member makes a key. One of them makes the epoch key, which the server never sees.
  const std::vector<tacet::MemberKey> keys = {tacet::MemberKey::Generate(),
                                              tacet::MemberKey::Generate()};
  const tacet::EpochKey epoch_key = tacet::EpochKey::Generate();
  const tacet::Agreement agreement = tacet::Agreement::Create(Options(keys)).value();
  const std::vector<tacet::Client> clients = {
      tacet::Client::Create(agreement, 0, keys[0], epoch_key).value(),
      tacet::Client::Create(agreement, 1, keys[1], epoch_key).value()};
  const std::vector<float> updates[] = {std::vector<float>(kDimension, 0.02F),
                                        std::vector<float>(kDimension, -0.01F)};
  // Once an epoch each client sends its packet to the server, and the server to the committee.
  const std::vector<tacet::Bytes> packets = {clients[0].key_packet(), clients[1].key_packet()};
  std::vector<tacet::SealedUpdate> sealed;
  std::vector<tacet::CommitteeSeat> seats;
  std::vector<tacet::Bytes> votes;
  std::vector<tacet::Bytes> shares;

  const tacet::AttemptId attempt{.round = 0};
  auto server = tacet::Aggregator::Create(agreement, attempt, packets).value();
  for (uint64_t i = 0; i < 2; ++i) {  // each client next to its data; the server has no key
    sealed.push_back(clients[i].Seal(attempt, updates[i]).value());
    if (!server.Submit(i, sealed[i].upload).ok()) return 1;
  }
  const tacet::ClosedAttempt closed = server.Close().value();
  for (uint64_t i = 0; i < 2; ++i) {  // the committee: one vote for one sum
    const tacet::OwnUpload own{.nonce = sealed[i].nonce, .acknowledged = true};
    seats.push_back(clients[i].Seat(attempt, packets, own, tacet::MemoryJournal()).value());
    votes.push_back(seats[i].Vote(closed.closed_round, closed.roster).value());
  }
  for (tacet::CommitteeSeat& seat : seats) shares.push_back(seat.Unmask(votes).value());
  const tacet::Aggregate aggregate =  // every client decrypts the sum and verifies it
      clients[0].Decrypt(attempt, {closed.closed_round, votes, shares}).value();

  double average = 0;
  for (const double value : aggregate.average) average += value / kDimension;
  const double deviation = agreement.sum_stddev(2) / 2;
  std::printf("upload: %zu bytes for %zu values\n", sealed[0].upload.size(), updates[0].size());
  std::printf("each value of the average has noise of deviation %.3f\n", deviation);
  std::printf("average over all values: %.4f; without noise it would be 0.0050\n", average);
  // The average of 1000 noisy values: seven deviations are passed once in 10^11 runs.
  return std::abs(average - 0.005) < 7 * deviation / std::sqrt(double{kDimension}) ? 0 : 1;
}
