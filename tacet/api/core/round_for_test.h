// A small federation through the public interface, for tests.
#ifndef TACET_API_CORE_ROUND_FOR_TEST_H_
#define TACET_API_CORE_ROUND_FOR_TEST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/tacet.h"

namespace tacet::api {

using base::ValueOf;

// `members` clients, all of them in every cohort, updates of 100 values.
struct RoundForTest {
  static constexpr uint64_t kDimension = 100;

  explicit RoundForTest(uint64_t members) : RoundForTest(members, OptionsForTest()) {}
  RoundForTest(uint64_t members, AgreementOptions options)
      : keys(KeysFor(members)),
        epoch_key(EpochKey::Generate()),
        agreement(ValueOf(Agreement::Create(With(std::move(options), keys)))),
        clients(ClientsOf(agreement, keys, epoch_key)),
        server(ValueOf(Aggregator::Create(agreement, attempt, Packets()))) {}

  static AgreementOptions OptionsForTest() {
    AgreementOptions options;
    options.federation.noise_multiplier = 4;
    options.federation.rounds = 3;
    options.federation.scale = 1e-3;
    options.dimension = kDimension;
    return options;
  }
  static std::vector<MemberKey> KeysFor(uint64_t members) {
    std::vector<MemberKey> keys;
    for (uint64_t member = 0; member < members; ++member) keys.push_back(MemberKey::Generate());
    return keys;
  }
  static std::vector<Client> ClientsOf(const Agreement& agreement,
                                       const std::vector<MemberKey>& keys,
                                       const EpochKey& epoch_key) {
    std::vector<Client> clients;
    for (uint64_t member = 0; member < keys.size(); ++member) {
      clients.push_back(ValueOf(Client::Create(agreement, member, keys[member], epoch_key)));
    }
    return clients;
  }
  static AgreementOptions With(AgreementOptions options, const std::vector<MemberKey>& keys) {
    for (const MemberKey& key : keys) options.members.push_back(key.public_key());
    return options;
  }

  // Every client seals `value` in each coordinate, and the server accepts it.
  void SealAll(float value) {
    for (uint64_t member = 0; member < clients.size(); ++member) {
      uploads.push_back(
          ValueOf(clients[member].Seal(attempt, std::vector<float>(kDimension, value))));
      EXPECT_TRUE(server.Submit(member, uploads.back().upload).ok());
    }
  }

  std::vector<Bytes> Packets() const {
    std::vector<Bytes> packets;
    for (const Client& client : clients) packets.push_back(client.key_packet());
    return packets;
  }

  CommitteeSeat SeatOf(uint64_t member, const AnswerJournal& journal) const {
    return ValueOf(clients[member].Seat(
        attempt, Packets(), {.nonce = uploads[member].nonce, .acknowledged = true}, journal));
  }

  // All seats vote for `closed` and give their unmask shares.
  DecryptionMessages Unmask(const ClosedAttempt& closed) {
    std::vector<CommitteeSeat> seats;
    DecryptionMessages messages{.closed_round = closed.closed_round};
    for (const uint64_t member : agreement.options().committee) {
      seats.push_back(SeatOf(member, MemoryJournal()));
      messages.votes.push_back(ValueOf(seats.back().Vote(closed.closed_round, closed.roster)));
    }
    for (CommitteeSeat& seat : seats) {
      messages.unmask_shares.push_back(ValueOf(seat.Unmask(messages.votes)));
    }
    return messages;
  }

  std::vector<MemberKey> keys;
  EpochKey epoch_key;
  Agreement agreement;
  AttemptId attempt;
  std::vector<Client> clients;
  Aggregator server;
  std::vector<SealedUpdate> uploads;
};

}  // namespace tacet::api

#endif  // TACET_API_CORE_ROUND_FOR_TEST_H_
