// A second training under one enrolment: it begins again in every state but the ledger, where its
// charges add to those of the first.
#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/pair_masks.h"
#include "tests/live/changing_federation_for_test.h"

namespace tacet {
namespace {

using live::testing::ChangingFederation;
using protocol::testing::ValueOf;
using ::testing::HasSubstr;

const std::vector<int> kSites = {0, 1, 2, 3, 4};

TEST(SecondTrainingTest, BeginsFromItsOwnModelAndLedgersAddUp) {
  ChangingFederation all(3);
  const auto& first = all.BeginEpoch(kSites);
  all.Finish();
  all.ExpectModels();
  const uint64_t charged = all.SiteOf(0).ledger->entries().size();
  const crypto::Digest model = all.SiteOf(0).session->model_digest();
  // Another model, fewer rounds, another committee, one site less and one more.
  const auto& second = all.SignTraining({0, 1, 3, 4, 5}, first, 2);
  all.Begin(second);
  EXPECT_EQ(all.SiteOf(0).session->next_round(), 0u);
  all.FinishWithoutFault();
  EXPECT_NE(all.SiteOf(0).session->model_digest(), model);
  EXPECT_EQ(all.server->Attempts().size(), 2u);
  EXPECT_EQ(all.SiteOf(0).ledger->entries().size(), charged + 2);
  EXPECT_EQ(all.SiteOf(0).ledger->ChargesOf({7}, second.manifest.training()), 2u);
  EXPECT_EQ(all.SiteOf(5).ledger->entries().size(), 2u);
  // Its members change as those of the first: the third epoch continues with it.
  const auto& third =
      all.SignTraining({0, 1, 3, 4}, second, 4, 7, [&](agreement::SignedManifestSpec& spec) {
        spec.agreement.training = second.manifest.epoch();
      });
  all.Begin(third);
  EXPECT_EQ(all.SiteOf(0).session->next_round(), 2u);
  all.Finish();
  all.ExpectModels();
  all.ExpectNoViolations();
}

// The committee of the new training needs none of the members before.
TEST(SecondTrainingTest, MayHaveOtherMembersAltogether) {
  ChangingFederation all(2);
  const auto& first = all.BeginEpoch(kSites);
  all.Finish();
  const auto& second = all.SignTraining({5, 6, 7}, first, 2);
  all.Begin(second);
  all.Finish();
  all.ExpectModels();
  all.ExpectNoViolations();
  // The same members could not continue with the first one's model.
  const auto& impossible =
      all.SignTraining({0, 1, 2}, second, 2, 7, [&](agreement::SignedManifestSpec& spec) {
        spec.agreement.training = second.manifest.epoch();
      });
  EXPECT_THAT(
      base::Message(agreement::CheckSuccessor(second.manifest.link(), impossible.manifest.link())),
      HasSubstr("0 of the 3 committee members"));
}

// Server and sites are killed and started again at any moment: in the first training, between the
// two, while some have joined the second one and others have not, and in the second.
TEST(SecondTrainingTest, EveryMomentOfTheChangeIsSafe) {
  for (int moment = 0; moment < 8; ++moment) {
    for (const bool server_first : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", moment, server_first));
      ChangingFederation all(3);
      const auto& first = all.BeginEpoch(kSites);
      for (int turn = 0; turn < moment; ++turn) all.Turn();
      const auto& second = all.SignTraining(kSites, first, 3);
      if (server_first) {
        ASSERT_TRUE(all.Serve(second).ok());
      }
      for (const int id : {0, 1, 2}) {
        ASSERT_TRUE(all.Join(id, second).ok());
        all.Turn();
      }
      if (!server_first) {
        all.StopServer();
        ASSERT_TRUE(all.Serve(second).ok());
      }
      for (const int id : {3, 4}) ASSERT_TRUE(all.Join(id, second).ok());
      for (int turn = 0; turn < 6; ++turn) {
        all.Turn();
        ASSERT_TRUE(all.Serve(second).ok());
        ASSERT_TRUE(all.Join(turn % 5, second).ok());
      }
      all.Finish();
      all.ExpectModels();
      all.ExpectCharges();
      for (const int id : kSites) {
        const auto& entries = all.SiteOf(id).ledger->entries();
        const auto of_second = std::ranges::count_if(
            entries, [](const ledger::LedgerEntry& e) { return e.label.number.epoch == 1; });
        EXPECT_EQ(static_cast<size_t>(of_second), all.server->Attempts().size()) << id;
      }
    }
  }
}

// A state or a manifest of the first training leads nobody back to it.
TEST(SecondTrainingTest, ThereIsNoWayBack) {
  ChangingFederation all(3);
  const auto& first = all.BeginEpoch(kSites);
  all.RunUntil(2);
  const auto& second = all.SignTraining(kSites, first, 3);
  all.Begin(second);
  // The second one's manifest has been joined, and nothing announced: that the first one continues
  // is for the site's folder to refuse, which keeps the chain. From the first attempt on the state
  // knows.
  all.RunUntil(1);
  EXPECT_THAT(base::Message(all.Join(0, first)),
              HasSubstr("state is of the training that began with epoch 1"));
  EXPECT_THAT(base::Message(all.Serve(first)), HasSubstr("store has gone on to epoch 1"));
  // A site and a server that lost both: the ledger knows.
  all.LoseServerFolder();
  ASSERT_TRUE(all.Serve(first).ok());
  ChangingFederation::Site& site = all.SiteOf(1);
  const size_t charged = site.ledger->entries().size(), sealed = site.sealed.size();
  for (const int id : kSites) {
    all.SiteOf(id).state = {};
    ASSERT_TRUE(all.Join(id, first).ok());
  }
  for (int turn = 0; turn < 20; ++turn) all.Turn();
  EXPECT_EQ(site.ledger->entries().size(), charged);
  EXPECT_EQ(site.sealed.size(), sealed);
  EXPECT_EQ(all.server->Status().finished, 0u);
}

// The chain of manifests allows the training that continues and the one that begins, nothing else.
TEST(SecondTrainingTest, AJumpIsRefused) {
  ChangingFederation all(3);
  const auto& first = all.Sign(kSites);
  const auto& second = all.SignTraining(kSites, first, 3);
  const auto of = [&](const ChangingFederation::Epoch& before, uint32_t training) {
    const auto& next = all.SignTraining(
        kSites, before, 3, 7,
        [training](agreement::SignedManifestSpec& spec) { spec.agreement.training = training; });
    return std::string(
        base::Message(agreement::CheckSuccessor(before.manifest.link(), next.manifest.link())));
  };
  EXPECT_EQ(of(second, 1), "");  // it continues
  EXPECT_EQ(of(second, 2), "");  // another begins
  EXPECT_THAT(of(second, 0), HasSubstr("is of the training that began with epoch 0: epoch 2 "
                                       "continues with the training of epoch 1, or begins one"));
  EXPECT_THAT(of(first, 0), HasSubstr("it trains another model than before"));
}

// The catastrophe would be one stream under two messages. A member whose coins, noise and one-time
// keys repeat seals the same update for the same round of both trainings: everything that hides it
// is another, since keys and masks hang on the manifest.
TEST(SecondTrainingTest, NoStreamRepeatsEvenWhereRandomnessDoes) {
  ChangingFederation all(1);
  const auto& first = all.Sign(kSites);
  // The very same terms.
  const auto& second = all.Sign(kSites, &first, [](agreement::SignedManifestSpec& spec) {
    spec.agreement.training = spec.epoch;
  });
  // Also if epoch, epoch key and nonces were the same, which they never are.
  const crypto::SecretBytes key = crypto::InsecureSeededEntropy(1, "one epoch key").Draw(32);
  const auto bytes = [](const crypto::SecretBytes& secret) {
    return base::Bytes(secret.Expose().begin(), secret.Expose().end());
  };
  std::set<base::Bytes> streams;
  for (const ChangingFederation::Epoch* epoch : {&first, &second}) {
    const secagg::Attempt attempt{
        .manifest_hash = epoch->hash(), .number = {}, .model_digest = {1}};
    const he::Scheme scheme = epoch->agreed().scheme;
    const secagg::AttemptKeys keys = secagg::DeriveAttemptKeys(key, scheme, attempt);
    streams.insert(bytes(keys.tag_key));
    streams.insert(bytes(keys.result_key));
    streams.insert(bytes(secagg::DeriveCheckpointKey(key, scheme, attempt)));
    const crypto::Digest seed = secagg::PublicSeed(attempt);
    streams.insert(base::Bytes(seed.begin(), seed.end()));
    // The exchange keys of the first epoch, as with --keep-exchange-keys.
    streams.insert(bytes(secagg::DerivePairKey(
        {.agreed = key, .shared = key, .epoch_key = key},
        {.manifest_hash = epoch->hash(), .epoch = 0, .client = 1, .seat = 2, .list = {}})));
    std::vector<uint16_t> mask(64);
    secagg::ExpandMask(key.Expose(), attempt, secagg::SealNonce{}, mask);
    base::ByteWriter words;
    for (const uint16_t word : mask) words.U32(word);
    streams.insert(words.Take());
  }
  EXPECT_EQ(streams.size(), 12u);
}

// A server, or anyone it works with, hands what was said in the first training to the second.
TEST(SecondTrainingTest, MessagesOfTheFirstAreWorthNothing) {
  ChangingFederation all(2);
  const auto& first = all.BeginEpoch(kSites);
  std::vector<base::Bytes> requests, answers;
  for (const int id : kSites) {
    all.SiteOf(id).lie = [&](const protocol::RequestBody& body,
                             absl::StatusOr<base::Bytes> answer) {
      const bool tells = std::holds_alternative<protocol::AwaitRequest>(body) ||
                         std::holds_alternative<protocol::FetchPartRequest>(body);
      if (tells && answer.ok()) answers.push_back(*answer);
      return answer;
    };
  }
  all.on_request = [&](std::span<const uint8_t> request) {
    requests.emplace_back(request.begin(), request.end());
  };
  all.Finish();
  all.on_request = nullptr;
  const std::vector<base::Bytes> said = {all.SiteOf(1).session->Attestation()};
  const base::Bytes kept = ValueOf(all.SiteOf(1).state.LoadCheckpoint());
  const auto& second = all.Sign(kSites, &first, [](agreement::SignedManifestSpec& spec) {
    spec.agreement.training = spec.epoch;  // the very same terms
  });
  for (const int id : kSites) all.SiteOf(id).lie = nullptr;
  all.Begin(second);
  // To the server: uploads, votes, shares, attestations of members that exist now, too.
  ASSERT_GT(requests.size(), 20u);
  for (const base::Bytes& request : requests) EXPECT_FALSE(all.Answer(request).ok());
  EXPECT_FALSE(protocol::ReadAttestation(said[0], second.manifest).ok());
  EXPECT_EQ(protocol::ReadCheckpoint(kept, first.manifest.manifest().federation(), 1,
                                     protocol::StateSizeOf(first.manifest.manifest().spec()))
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
  // To a member: each announcement and each object in turn, in the place of the true ones.
  ChangingFederation::Site& site = all.SiteOf(2);
  size_t next = 0;
  site.lie = [&](const protocol::RequestBody&, absl::StatusOr<base::Bytes>) {
    return absl::StatusOr<base::Bytes>(answers[next++ % answers.size()]);
  };
  const size_t charged = site.ledger->entries().size(), sealed = site.sealed.size();
  for (size_t step = 0; step < 2 * answers.size(); ++step) all.StepOf(site);
  EXPECT_EQ(site.ledger->entries().size(), charged);
  EXPECT_EQ(site.sealed.size(), sealed);
  EXPECT_EQ(site.session->next_round(), 0u);
  EXPECT_FALSE(all.ViolationsOf(2).empty());
  site.lie = nullptr;
  ASSERT_TRUE(all.Join(2, second).ok());
  all.Finish();
  all.ExpectModels();
}

// A site whose data were spent in the first training has to say so in the second.
TEST(SecondTrainingTest, ADeletedLedgerIsMissed) {
  ChangingFederation all(2);
  const auto& first = all.BeginEpoch(kSites);
  all.Finish();
  const auto& second = all.SignTraining(kSites, first, 2);
  ASSERT_TRUE(all.Serve(second).ok());
  ChangingFederation::Site& site = all.SiteOf(0);
  site.memory_ledger = ledger::testing::NewMemoryLedger(ChangingFederation::Header());
  const absl::Status refused = all.Join(0, second);
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(refused), HasSubstr("it is an older one"));
}

// Each training has the number of its own participations, attempts and invitations.
TEST(SecondTrainingTest, LimitsOfParticipationBeginAgain) {
  ChangingFederation all(4);
  const auto limited = [](agreement::SignedManifestSpec& spec) {
    spec.agreement.sampling.method = accounting::Sampling::kPoisson;
    spec.agreement.sampling.dummy_uploads = true;
    spec.agreement.sampling.max_participations = 2;
  };
  const auto& first = all.BeginEpoch(kSites, nullptr, limited);
  all.Finish();
  const auto gives = [&](uint32_t epoch) {
    const auto& entries = all.SiteOf(0).ledger->entries();
    return std::ranges::count_if(entries, [epoch](const ledger::LedgerEntry& entry) {
      return entry.label.number.epoch == epoch && entry.kind == ledger::ChargeKind::kSealing;
    });
  };
  EXPECT_EQ(gives(0), 2);
  const auto& second = all.SignTraining(kSites, first, 4, 7, limited);
  all.Begin(second);
  all.Finish();
  EXPECT_EQ(gives(1), 2);
}

}  // namespace
}  // namespace tacet
