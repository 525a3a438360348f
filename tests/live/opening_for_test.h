// A federation at the opening of an epoch, with a server that may lie. The committee of five
// tolerates two corrupt seats; four votes open an epoch.
#ifndef TACET_TESTS_LIVE_OPENING_FOR_TEST_H_
#define TACET_TESTS_LIVE_OPENING_FOR_TEST_H_

#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/protocol/attestation.h"
#include "tacet/protocol/epoch_opening.h"
#include "tests/live/changing_federation_for_test.h"

namespace tacet::live::testing {

class OpeningFixture : public ::testing::Test {
 protected:
  using Answered = absl::StatusOr<base::Bytes>;
  using Epoch = ChangingFederation::Epoch;
  using Word = protocol::OpeningWord;
  using State = protocol::Checkpoint;

  inline static const std::vector<int> kAll = {0, 1, 2, 3, 4};

  // The state of a site; each epoch has digests of its own for it.
  State StateOf(int id) { return all_.CheckpointOf(id); }
  static protocol::OpeningState Under(const Epoch& epoch, const State& state) {
    return ChangingFederation::StateUnder(epoch, state);
  }
  base::Bytes Says(int id, Word word, const Epoch& epoch, const protocol::OpeningState& state,
                   std::optional<protocol::OpeningState> earlier = std::nullopt) {
    return protocol::WriteOpeningStatement(
        {.word = word, .member = epoch.NumberOf(id), .state = state, .earlier = earlier},
        epoch.manifest, all_.SiteOf(id).keys.signing);
  }
  base::Bytes Says(int id, Word word, const Epoch& epoch, const State& state) {
    return Says(id, word, epoch, Under(epoch, state));
  }
  std::vector<base::Bytes> AllSay(const std::vector<int>& ids, Word word, const Epoch& epoch,
                                  const State& state) {
    std::vector<base::Bytes> statements;
    for (const int id : ids) statements.push_back(Says(id, word, epoch, state));
    return statements;
  }
  bool HasVoted(int id, const Epoch& epoch) {
    const auto kept = all_.SiteOf(id).state.LoadOpeningVote();
    return kept.ok() &&
           protocol::ReadOpeningStatement(
               protocol::testing::ValueOf(protocol::ReadBlobs(*kept)).front(), epoch.manifest)
               .ok();
  }
  base::Bytes VoteOf(int id) {
    return protocol::testing::ValueOf(protocol::ReadBlobs(protocol::testing::ValueOf(
                                          all_.SiteOf(id).state.LoadOpeningVote())))
        .front();
  }

  // The server tells `id` that `round` rounds are finished, and that these are the statements; an
  // attempt of the epoch collects, once `began`, or the training has ended.
  void TellThat(int id, uint32_t round, std::vector<base::Bytes> statements,
                std::optional<secagg::Attempt> began = std::nullopt) {
    Tell(id, std::move(statements), [=, this](protocol::Announcement& told) {
      told.finished = round;
      told.kept.clear();
      told.listed.clear();
      told.first_listed = 0;
      told.current.reset();
      told.stopped = round == all_.SiteOf(id).epoch->agreed().rounds || !began.has_value();
      if (!began.has_value()) return;
      told.current = protocol::AnnouncedAttempt{
          .attempt = *began, .invited = protocol::Invited::kYes, .deadline = all_.now + 100};
      told.listed = {began->number};
    });
  }
  // The server alters what it announces to `id`, and returns these statements.
  void Tell(int id, std::vector<base::Bytes> statements,
            std::function<void(protocol::Announcement&)> alter) {
    all_.SiteOf(id).lie = [=, this](const protocol::RequestBody& body,
                                    Answered answer) -> Answered {
      if (std::holds_alternative<protocol::AwaitRequest>(body) && answer.ok()) {
        auto told = protocol::testing::ValueOf(protocol::ReadAnnouncement(*answer));
        told.revision = ++revision_;
        alter(told);
        return protocol::WriteAnnouncement(told);
      }
      if (std::holds_alternative<protocol::FetchOpeningRequest>(body)) {
        return protocol::WriteBlobs(statements);
      }
      if (hides_statements_ && std::holds_alternative<protocol::PutOpeningRequest>(body)) {
        return base::Bytes();
      }
      return answer;
    };
  }

  void Step(int id, int times = 5) {
    for (int i = 0; i < times; ++i) all_.StepOf(all_.SiteOf(id));
  }
  // Time for the server, with these sites connected.
  void Tick(const Epoch& epoch, const std::vector<int>& here) {
    all_.now += 1;
    for (const int id : here) all_.server->NotePresence(epoch.NumberOf(id));
    const absl::Status ticked = all_.server->Tick();
    ASSERT_TRUE(ticked.ok()) << ticked;
  }
  uint32_t RoundOf(int id) { return all_.SiteOf(id).session->next_round(); }
  bool HasEntered(int id) { return all_.SiteOf(id).session->has_entered(); }

  bool hides_statements_ = false;  // from the server's own code, wherever it tells something else
  uint64_t revision_ = 1000;
  ChangingFederation all_{6};
};

}  // namespace tacet::live::testing

#endif  // TACET_TESTS_LIVE_OPENING_FOR_TEST_H_
