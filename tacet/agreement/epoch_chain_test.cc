#include "tacet/agreement/epoch_chain.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/hospitals_for_test.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"

namespace tacet::agreement {
namespace {

using ::testing::HasSubstr;

// A coordinator that signs whatever it is asked for.
class EpochChainTest : public ::testing::Test {
 protected:
  // Each number is a site with keys of its own.
  SignedManifest Sign(uint32_t epoch, const crypto::Digest& predecessor,
                      const std::vector<int>& sites,
                      const std::function<void(SignedManifestSpec&)>& change = {}) {
    SignedManifestSpec spec = HospitalFederation(sites.size());
    spec.epoch = epoch;
    spec.predecessor = predecessor;
    spec.agreement.sampling.min_participants = 2;
    for (const int site : sites) {
      crypto::InsecureSeededEntropy keys(static_cast<uint64_t>(site), "site");
      const crypto::SigningKey signing = crypto::SigningKey::Generate(keys);
      const auto number = static_cast<uint8_t>(site);
      spec.members.push_back(SignMember("site-" + std::to_string(site), signing, {201, number},
                                        {.exchange = {static_cast<uint8_t>(epoch + 2), number},
                                         .kem = {static_cast<uint8_t>(epoch + 2), 0, number}}));
    }
    if (change) change(spec);
    return base::ValueOf(SignedManifest::Sign(std::move(spec), coordinator_));
  }
  static crypto::Digest Hash(const SignedManifest& manifest) { return manifest.manifest().hash(); }
  static std::string Refusal(const SignedManifest& before, const SignedManifest& next) {
    return std::string(base::Message(CheckSuccessor(before.link(), next.link())));
  }

  crypto::InsecureSeededEntropy entropy_{1, "coordinator"};
  crypto::SigningKey coordinator_ = crypto::SigningKey::Generate(entropy_);
};

TEST_F(EpochChainTest, MembersAreAddedRemovedAndReplaced) {
  const SignedManifest first = Sign(0, {}, {1, 2, 3});
  const SignedManifest without = Sign(1, Hash(first), {1, 2});
  const SignedManifest with = Sign(2, Hash(without), {1, 2, 5});
  const SignedManifest other = Sign(3, Hash(with), {1, 5, 6});
  const std::vector<base::Bytes> manifests = {first.bytes(), without.bytes(), with.bytes(),
                                              other.bytes()};
  ASSERT_OK_AND_ASSIGN(const auto chain, ReadChain(manifests));
  EXPECT_EQ(chain.size(), 4u);
  EXPECT_EQ(chain.back().hash, Hash(other));
  EXPECT_TRUE(CheckContinues(std::span(chain).first(2), chain).ok());
  EXPECT_TRUE(CheckContinues(chain, chain).ok());
  EXPECT_TRUE(CheckContinues({}, chain).ok());
}

TEST_F(EpochChainTest, AnythingButTheNextEpochIsRefused) {
  const SignedManifest first = Sign(0, {}, {1, 2, 3});
  const SignedManifest second = Sign(1, Hash(first), {1, 2, 3});
  EXPECT_THAT(Refusal(first, Sign(2, Hash(second), {1, 2, 3})), HasSubstr("one is missing"));
  EXPECT_THAT(Refusal(second, Sign(2, Hash(first), {1, 2, 3})),
              HasSubstr("two were signed for that epoch"));
  // Two federations that agree on the very same terms.
  const auto another = [](SignedManifestSpec& spec) { spec.agreement.federation = {8}; };
  EXPECT_THAT(Refusal(first, Sign(1, Hash(first), {1, 2, 3}, another)),
              HasSubstr("is of another federation"));
  EXPECT_THAT(Refusal(first, Sign(1, Hash(first), {1, 2, 3},
                                  [](SignedManifestSpec& spec) { spec.federation = "banks"; })),
              HasSubstr("is of another federation"));
  EXPECT_THAT(Refusal(first, Sign(1, Hash(first), {1, 2, 3},
                                  [](SignedManifestSpec& spec) { spec.agreement.dimension = 61; })),
              HasSubstr("trains another model"));
  EXPECT_THAT(
      Refusal(first, Sign(1, Hash(first), {1, 2, 3},
                          [](SignedManifestSpec& spec) { spec.agreement.initial_model = {1}; })),
      HasSubstr("trains another model"));
  crypto::InsecureSeededEntropy stranger(9, "stranger");
  coordinator_ = crypto::SigningKey::Generate(stranger);
  EXPECT_THAT(Refusal(first, Sign(1, Hash(first), {1, 2, 3})),
              HasSubstr("signed by another coordinator"));
}

// The first two epochs are of one training, or each is the first of its own.
TEST_F(EpochChainTest, ATrainingGoesOnOrBegins) {
  const SignedManifest first = Sign(0, {}, {1, 2, 3});
  const auto of = [](uint32_t training, bool another_model = false) {
    return [training, another_model](SignedManifestSpec& spec) {
      spec.agreement.training = training;
      if (another_model) spec.agreement.dimension = 61;
    };
  };
  EXPECT_EQ(Refusal(first, Sign(1, Hash(first), {1, 2, 3}, of(0))), "");
  // Another model, and members that know nothing of the one before.
  const SignedManifest second = Sign(1, Hash(first), {7, 8, 9}, of(1, true));
  EXPECT_EQ(Refusal(first, second), "");
  EXPECT_EQ(Refusal(second, Sign(2, Hash(second), {7, 8, 9}, of(1, true))), "");
  EXPECT_EQ(Refusal(second, Sign(2, Hash(second), {7, 8, 9}, of(2))), "");
  EXPECT_THAT(Refusal(second, Sign(2, Hash(second), {7, 8, 9}, of(1))),
              HasSubstr("epoch 2 continues after epoch 1: it trains another model"));
  EXPECT_THAT(Refusal(second, Sign(2, Hash(second), {1, 2, 3}, of(1, true))),
              HasSubstr("0 of the 3 committee members"));
  EXPECT_THAT(Refusal(second, Sign(2, Hash(second), {7, 8, 9}, of(0))),
              HasSubstr("the manifest of epoch 2 is of the training that began with epoch 0: epoch "
                        "2 continues with the training of epoch 1, or begins one"));
  // A manifest that has to follow the one before still does.
  EXPECT_THAT(Refusal(second, Sign(2, Hash(first), {7, 8, 9}, of(2))),
              HasSubstr("two were signed for that epoch"));
  const auto another = [](SignedManifestSpec& spec) {
    spec.agreement.training = 1;
    spec.agreement.federation = {8};
  };
  EXPECT_THAT(Refusal(first, Sign(1, Hash(first), {1, 2, 3}, another)),
              HasSubstr("is of another federation"));
  // For an epoch to come: nobody can sign it, and nobody reads it.
  SignedManifestSpec spec;
  spec.federation = "hospitals";
  spec.agreement = first.manifest().spec();
  spec.agreement.training = 1;
  spec.members = first.members();
  spec.authority = crypto::SomeAuthority();
  EXPECT_THAT(base::Message(SignedManifest::Sign(std::move(spec), coordinator_).status()),
              HasSubstr("epoch 0 cannot continue a training that begins with epoch 1"));
}

// The newcomers would attest whatever model they like, and the others could not outvote them.
TEST_F(EpochChainTest, NewcomersHaveNoMajorityOnTheCommittee) {
  const SignedManifest first = Sign(0, {}, {1, 2, 3});
  EXPECT_THAT(Refusal(first, Sign(1, Hash(first), {3, 8, 9})),
              HasSubstr("1 of the 3 committee members of epoch 1 were members of epoch 0, at least "
                        "2 are needed"));
  EXPECT_EQ(Refusal(first, Sign(1, Hash(first), {2, 3, 9})), "");
  // The same name with other keys is a newcomer.
  const auto renamed = [](SignedManifestSpec& spec) {
    for (size_t i = 1; i < 3; ++i) {
      crypto::InsecureSeededEntropy keys(50 + i, "thief");
      spec.members[i] = SignMember(spec.members[i].name, crypto::SigningKey::Generate(keys),
                                   {202, static_cast<uint8_t>(i)},
                                   {.exchange = {203, static_cast<uint8_t>(i)}, .kem = {}});
    }
  };
  EXPECT_THAT(Refusal(first, Sign(1, Hash(first), {1, 2, 3}, renamed)), HasSubstr("1 of the 3"));
  // Any number may join outside of the committee.
  const auto old_committee = [](SignedManifestSpec& spec) {
    spec.agreement.committee_members = {0, 1, 2};
    spec.agreement.committee.seats = 3;
  };
  EXPECT_EQ(Refusal(first, Sign(1, Hash(first), {1, 2, 3, 4, 5, 6, 7, 8}, old_committee)), "");
}

TEST_F(EpochChainTest, ForksAndEndedEpochsAreTold) {
  const SignedManifest first = Sign(0, {}, {1, 2, 3});
  const SignedManifest left = Sign(1, Hash(first), {1, 2});
  const SignedManifest right = Sign(1, Hash(first), {2, 3});
  const SignedManifest after_right = Sign(2, Hash(right), {2, 3});
  const auto chain = [](std::vector<base::Bytes> manifests) { return *ReadChain(manifests); };
  const auto known = chain({first.bytes(), left.bytes()});
  const auto refusal = [&](const std::vector<EpochLink>& offered) {
    return std::string(base::Message(CheckContinues(known, offered)));
  };
  EXPECT_THAT(refusal(chain({first.bytes(), right.bytes()})),
              HasSubstr("another manifest was signed for epoch 1 before"));
  EXPECT_THAT(refusal(chain({first.bytes(), right.bytes(), after_right.bytes()})),
              HasSubstr("another manifest was signed for epoch 1 before"));
  EXPECT_THAT(refusal(chain({first.bytes()})), HasSubstr("epoch 0 has ended, this site is in"));
  // A fork that differs in nothing but the server.
  const auto server = [](SignedManifestSpec& spec) {
    spec.server = {.name = "hub", .hosts = {"evil.example"}, .tls_key = {1}};
  };
  EXPECT_THAT(refusal(chain({first.bytes(), Sign(1, Hash(first), {1, 2}, server).bytes()})),
              HasSubstr("another manifest was signed for epoch 1 before"));
}

TEST_F(EpochChainTest, AChainBeginsWithEpochZero) {
  const SignedManifest first = Sign(0, {}, {1, 2, 3});
  const SignedManifest second = Sign(1, Hash(first), {1, 2, 3});
  const std::vector<base::Bytes> late = {second.bytes()};
  EXPECT_THAT(base::Message(ReadChain(late).status()), HasSubstr("begins with epoch 1"));
  // A byte that is changed anywhere in it: the coordinator's signature is over all of them.
  for (size_t at = 0; at < first.bytes().size(); at += 7) {
    std::vector<base::Bytes> altered = {first.bytes(), second.bytes()};
    altered[0][at] ^= 1;
    EXPECT_EQ(ReadChain(altered).status().code(), absl::StatusCode::kDataLoss) << at;
  }
}

}  // namespace
}  // namespace tacet::agreement
