// A server that hashes guesses of models, states and averages, and looks for them in all that the
// members send.
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/test_size_for_test.h"
#include "tacet/protocol/checkpoint.h"
#include "tests/live/changing_federation_for_test.h"
#include "tests/live/guess_sweep_for_test.h"
#include "tests/live/hash_guesser_for_test.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {
namespace {

agreement::ManifestSpec WithMomentum(agreement::ManifestSpec spec) {
  spec.optimizer.momentum = 0.5;
  return spec;
}

// Every state that a member held between two rounds, as its folder had it.
class States {
 public:
  void Take(const agreement::Manifest& manifest, const member::MemberState& state) {
    const auto kept = state.LoadCheckpoint();
    if (!kept.ok()) return;
    const agreement::ManifestSpec& spec = manifest.spec();
    const auto read = protocol::ReadCheckpoint(*kept, manifest.federation(), spec.training,
                                               protocol::StateSizeOf(spec));
    ASSERT_TRUE(read.ok()) << read.status();
    states_.insert({read->next_round, {read->model, read->velocity}});
  }

  // Whether the guesser confirms none of the states, the averages that lead from one to the next,
  // and the members' updates.
  void ExpectNoneConfirmed(HashGuesser& guesser, uint32_t rounds, uint64_t members) {
    std::set<uint32_t> seen;
    for (const auto& [round, state] : states_) {
      seen.insert(round);
      EXPECT_EQ(guesser.Confirms(state.first, state.second), std::nullopt) << round;
    }
    for (uint32_t round = 1; round <= rounds; ++round) EXPECT_TRUE(seen.contains(round)) << round;
    for (const auto& [round, state] : states_) {
      for (const auto& [later, next] : states_) {
        if (later != round + 1) continue;
        std::vector<float> average(next.second.size()), step(next.first.size());
        for (size_t i = 0; i < step.size(); ++i) step[i] = next.first[i] - state.first[i];
        for (size_t i = 0; i < average.size(); ++i) {
          average[i] = next.second[i] - 0.5F * state.second[i];
        }
        EXPECT_EQ(guesser.Confirms(average), std::nullopt) << round;
        EXPECT_EQ(guesser.Confirms(step), std::nullopt) << round;
      }
    }
    for (uint32_t round = 0; round < rounds; ++round) {
      for (uint64_t member = 0; member < members; ++member) {
        std::vector<float> update(protocol::testing::kSmallDimension);
        for (size_t i = 0; i < update.size(); ++i) {
          update[i] = FixedUpdates::Value(member, round, i);
        }
        EXPECT_EQ(guesser.Confirms(update), std::nullopt) << member;
      }
    }
  }
  const std::vector<float>& VelocityAfter(uint32_t round) const {
    return states_.lower_bound({round, {}})->second.second;
  }

 private:
  std::set<std::pair<uint32_t, std::pair<std::vector<float>, std::vector<float>>>> states_;
};

// Also with a member that was absent and takes a checkpoint.
TEST(GuessedDigestsTest, ATrainingConfirmsNoModelNoStateAndNoAverage) {
  const agreement::ManifestSpec agreed = WithMomentum(ExactAgreement());
  LiveFederation live(agreed, 1);
  const agreement::Manifest& manifest = live.members.manifest().manifest();
  HashGuesser guesser;
  guesser.Know(manifest.hash());
  guesser.Know(manifest.federation());
  live.hear = [&](std::span<const uint8_t> bytes) { guesser.Hear(bytes); };
  States states;
  live.between = [&] {
    for (const auto& site : live.sites) states.Take(manifest, site->state);
  };
  live.site(4).away = true;
  live.options.collecting_seconds = 20;
  live.RestartServer();
  live.Run();
  live.site(4).away = false;
  live.Run();
  live.between();
  EXPECT_EQ(live.site(4).log.Count(member::NodeEventKind::kApplied, "checkpoint"), 1u);
  EXPECT_GT(guesser.heard(), 100'000u);
  ASSERT_EQ(states.VelocityAfter(1).size(), agreed.dimension);
  states.ExpectNoneConfirmed(guesser, 3, 5);
  // The initial model is public to nobody but the members, and its digest is salted.
  EXPECT_EQ(guesser.Confirms(std::vector<float>(agreed.dimension)), std::nullopt);
}

// The seats say under the new epoch's key which state they have; a seat that missed the last round
// votes for an earlier one.
TEST(GuessedDigestsTest, TheOpeningOfAnEpochConfirmsNoState) {
  ChangingFederation all(4);
  const auto with_momentum = [](agreement::SignedManifestSpec& spec) {
    spec.agreement = WithMomentum(std::move(spec.agreement));
  };
  HashGuesser guesser;
  all.on_request = [&](std::span<const uint8_t> bytes) { guesser.Hear(bytes); };
  States states;
  const auto take = [&](const ChangingFederation::Epoch& epoch) {
    for (const int id : epoch.sites) {
      states.Take(epoch.manifest.manifest(), all.SiteOf(id).state);
    }
  };
  const auto& first = all.BeginEpoch({0, 1, 2, 3, 4}, nullptr, with_momentum);
  all.RunUntil(1);
  take(first);
  all.PublishFor(2, {0, 1});
  take(first);
  const auto& second = all.BeginEpoch({0, 1, 2, 3, 4}, &first, with_momentum);
  for (int turn = 0; turn < 100; ++turn) {
    all.Turn();
    take(second);
  }
  all.Finish();
  EXPECT_EQ(all.SiteOf(0).log.Count(member::NodeEventKind::kApplied, "earlier-state"), 1u);
  all.ExpectNoViolations();
  for (const auto* epoch : {&first, &second}) guesser.Know(epoch->hash());
  states.ExpectNoneConfirmed(guesser, 4, 5);
}

// Guesses of a model after three rounds, whose last three values are unknown.
TEST(GuessedDigestsTest, ManyGuessesAroundAModelConfirmNothing) {
  const agreement::ManifestSpec agreed = ExactAgreement();
  LiveFederation live(agreed, 1);
  HashGuesser guesser;
  live.hear = [&](std::span<const uint8_t> bytes) { guesser.Hear(bytes); };
  live.Run();
  EXPECT_GT(guesser.heard(), 100'000u);
  guesser.Prepare();
  const agreement::Manifest& manifest = live.members.manifest().manifest();
  const auto read = protocol::ReadCheckpoint(
      protocol::testing::ValueOf(live.site(0).state.LoadCheckpoint()), manifest.federation(),
      agreed.training, protocol::StateSizeOf(agreed));
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->next_round, 3u);
  const auto guesses = static_cast<uint64_t>(base::TestSize("TACET_SWEEP", 1 << 20));
  EXPECT_EQ(GuessSweep(guesser).Confirms(read->model, guesses), std::nullopt);
}

// That test would notice any of its digests of the model, or of another guess.
TEST(GuessedDigestsTest, ManyGuessesConfirmADigestWithoutAKey) {
  constexpr uint64_t kGuesses = 1 << 20;
  std::vector<float> model(20);
  for (size_t i = 0; i < model.size(); ++i) model[i] = 0.1F * static_cast<float>(i) - 1;
  const auto bytes_of = [](std::span<const float> values) {
    return std::span(reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes());
  };
  const auto confirms = [&](std::span<const uint8_t> digest) {
    base::Bytes heard(1001, 0xaa);
    std::ranges::copy(digest, heard.begin() + 333);
    HashGuesser guesser;
    guesser.Hear(heard);
    guesser.Prepare();
    return GuessSweep(guesser).Confirms(model, kGuesses).value_or("");
  };
  const crypto::Digest digest = crypto::Sha256(bytes_of(model));
  EXPECT_EQ(confirms(digest), "SHA-256");
  EXPECT_EQ(confirms(base::AsBytes(base::ToHex(digest))), "SHA-256");
  for (const char* label : {"tacet/1/model", "tacet/1/state"}) {
    crypto::Sha256Hasher hasher;
    hasher.Update(base::AsBytes(std::string_view(label)));
    hasher.Update(bytes_of(model));
    EXPECT_EQ(confirms(hasher.Finish()), std::string("SHA-256 with label ") + label);
  }
  const crypto::Digest under_zeros = crypto::HmacSha256(
      crypto::SecretBytes(32), {base::AsBytes("tacet/1/model"), bytes_of(model)});
  EXPECT_EQ(confirms(under_zeros), "HMAC-SHA256 under zeros");
  const auto tail = GuessSweep::Guess(std::span(model).last(3), 700 + 1024 * 3, kGuesses);
  base::Bytes other(bytes_of(model).begin(), bytes_of(model).end());
  std::ranges::copy(tail, other.end() - tail.size());
  EXPECT_NE(base::Bytes(bytes_of(model).begin(), bytes_of(model).end()), other);
  EXPECT_EQ(confirms(crypto::Sha256(other)), "SHA-256");
  other[0] ^= 1;
  EXPECT_EQ(confirms(crypto::Sha256(other)), "");
}

// The tests of single guesses would notice a digest without a key, wherever and however it
// lies.
TEST(GuessedDigestsTest, AGuesserConfirmsADigestWithoutAKey) {
  const std::vector<float> model = {1.5F, -2, 3}, velocity = {0.25F, 0, 1};
  const auto floats = [](std::span<const float> values) {
    return std::span(reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes());
  };
  const auto confirms = [&](std::span<const uint8_t> digest) {
    base::Bytes heard(1001, 0xaa);
    std::ranges::copy(digest, heard.begin() + 333);
    HashGuesser guesser;
    guesser.Know(base::Bytes(32, 7));
    guesser.Hear(heard);
    EXPECT_EQ(guesser.Confirms(std::vector<float>{1.5F, -2, 4}, velocity), std::nullopt);
    return guesser.Confirms(model, velocity).value_or("");
  };
  const crypto::Digest digest = crypto::Sha256(floats(model));
  EXPECT_EQ(confirms(digest), "SHA256 of little-endian binary32");
  EXPECT_EQ(confirms(std::span(digest).first(16)), "SHA256 of little-endian binary32");
  EXPECT_EQ(confirms(base::AsBytes(base::ToHex(digest))), "SHA256 of little-endian binary32");
  crypto::Sha256Hasher state;
  state.Update(digest);
  state.Update(floats(velocity));
  EXPECT_EQ(confirms(state.Finish()), "SHA256 of SHA256 of model, and velocity");
  const auto known = crypto::SecretBytes::CopyOf(base::Bytes(32, 7));
  EXPECT_EQ(confirms(crypto::HmacSha256(known, {base::AsBytes("tacet/1/model"), floats(model)})),
            "HMAC-SHA256 under a known key of little-endian binary32");
  base::ByteWriter checksum;
  for (const uint64_t word : secagg::Checksum(floats(model))) checksum.U64(word);
  EXPECT_EQ(confirms(checksum.bytes()), "checksum of little-endian binary32");
}

}  // namespace
}  // namespace tacet::live::testing
