#include "tacet/protocol/encrypted_checkpoint.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::protocol {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kEpoch = 4;

agreement::Manifest Agreed(uint32_t rounds = 9, double momentum = 0.5) {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = 3;
  spec.sampling.clients = 2;
  spec.sampling.cohort = 2;
  spec.rounds = rounds;
  spec.optimizer.momentum = momentum;
  spec.mechanism.scale = 1e-2;
  spec.mechanism.noise_stddev = 3;
  spec.members.resize(2);
  return *agreement::Manifest::Create(spec);
}

const agreement::Manifest& Known() {
  static const auto& manifest = *new agreement::Manifest(Agreed());
  return manifest;
}

Checkpoint EncryptedSample() {
  return {.federation = Known().federation(),
          .next_round = 7,
          .model = {1.5f, -2, 3e-30f},
          .velocity = {0, 1, -1}};
}

crypto::SecretBytes EpochKey(std::string_view label = "epoch") {
  return crypto::InsecureSeededEntropy(1, label).Draw(32);
}

crypto::Digest DigestOf(std::span<const float> model,
                        const agreement::Manifest& manifest = Known()) {
  return secagg::DigestKey::OfEpoch(EpochKey(), manifest.spec().scheme, manifest.hash(), kEpoch)
      .OfModel(model);
}

base::Bytes Seal(const Checkpoint& checkpoint, uint64_t writer = 1) {
  return SealCheckpoint(checkpoint, DigestOf(checkpoint.model), Known(), kEpoch, writer,
                        EpochKey());
}

secagg::Attempt Start(uint32_t round = 7) {
  return RoundStart(Known(), kEpoch, round, DigestOf(EncryptedSample().model));
}

std::string EncryptedRefusal(const base::Bytes& bytes, const secagg::Attempt& start = Start(),
                             const agreement::Manifest& manifest = Known()) {
  const auto opened = DecryptCheckpoint(bytes, manifest, start, EpochKey());
  EXPECT_FALSE(opened.ok());
  return base::Message(opened.status());
}

TEST(EncryptedCheckpointTest, IsOpenedAsItWasSealed) {
  const base::Bytes sealed = Seal(EncryptedSample());
  EXPECT_EQ(sealed.size(), EncryptedCheckpointBytes(Known().spec()));
  ASSERT_OK_AND_ASSIGN(const auto opened, DecryptCheckpoint(sealed, Known(), Start(), EpochKey()));
  EXPECT_EQ(opened.next_round, 7u);
  EXPECT_EQ(opened.model, EncryptedSample().model);
  EXPECT_EQ(opened.velocity, EncryptedSample().velocity);
  EXPECT_EQ(sealed, Seal(EncryptedSample()));
  EXPECT_NE(sealed, Seal(EncryptedSample(), 2));
}

TEST(EncryptedCheckpointTest, RefusesEveryFlippedByteAndEveryLength) {
  const base::Bytes whole = Seal(EncryptedSample());
  for (size_t i = 0; i < whole.size(); ++i) {
    base::Bytes bytes = whole;
    bytes[i] ^= 1;
    EncryptedRefusal(bytes);
    EncryptedRefusal(base::Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(i)));
  }
  base::Bytes longer = whole;
  longer.push_back(0);
  EXPECT_THAT(EncryptedRefusal(longer),
              HasSubstr("one of 3 parameters and 3 values of velocity has"));
}

TEST(EncryptedCheckpointTest, RefusesWhatIsOfAnotherPlace) {
  EXPECT_THAT(EncryptedRefusal(Seal(EncryptedSample()), Start(6)), HasSubstr("round"));
  secagg::Attempt other = Start();
  other.number.epoch = 5;
  EXPECT_THAT(EncryptedRefusal(Seal(EncryptedSample()), other), HasSubstr("epoch"));
  other = Start();
  other.model_digest[0] ^= 1;
  EXPECT_THAT(EncryptedRefusal(Seal(EncryptedSample()), other), HasSubstr("model"));
  const agreement::Manifest changed = Agreed(10);
  EXPECT_THAT(EncryptedRefusal(Seal(EncryptedSample()), RoundStart(changed, kEpoch, 7), changed),
              HasSubstr("manifest"));
}

TEST(EncryptedCheckpointTest, WithoutMomentumHoldsNoVelocity) {
  const agreement::Manifest plain = Agreed(9, 0);
  const auto sealed = [&plain](Checkpoint state) {
    state.federation = plain.federation();
    return SealCheckpoint(state, DigestOf(state.model, plain), plain, kEpoch, 1, EpochKey());
  };
  const secagg::Attempt start =
      RoundStart(plain, kEpoch, 7, DigestOf(EncryptedSample().model, plain));
  Checkpoint without = EncryptedSample();
  without.velocity = {};
  ASSERT_OK_AND_ASSIGN(const auto opened,
                       DecryptCheckpoint(sealed(without), plain, start, EpochKey()));
  EXPECT_EQ(opened.model, without.model);
  EXPECT_TRUE(opened.velocity.empty());
  EXPECT_THAT(EncryptedRefusal(sealed(EncryptedSample()), start, plain),
              HasSubstr("one of 3 parameters and 0 values of velocity has"));
}

TEST(EncryptedCheckpointTest, RefusesAnotherKey) {
  const auto opened =
      DecryptCheckpoint(Seal(EncryptedSample()), Known(), Start(), EpochKey("another epoch"));
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(opened.status()), HasSubstr("encrypted checkpoint: "));
}

// Only a member that holds the key can have made it: the state of another agreement's run.
TEST(EncryptedCheckpointTest, RefusesAnotherRunsState) {
  Checkpoint other = EncryptedSample();
  other.federation[0] ^= 1;
  EXPECT_THAT(EncryptedRefusal(Seal(other)), HasSubstr("run with other settings"));
}

}  // namespace
}  // namespace tacet::protocol
