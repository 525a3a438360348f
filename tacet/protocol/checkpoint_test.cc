#include "tacet/protocol/checkpoint.h"

#include <algorithm>
#include <span>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::protocol {
namespace {

using ::testing::HasSubstr;

Checkpoint Sample() {
  Checkpoint checkpoint;
  checkpoint.federation.fill(3);
  checkpoint.training = 5;
  checkpoint.next_round = 7;
  checkpoint.model = {1.5f, -2, 3e-30f};
  checkpoint.velocity = {0, 1, -1};
  return checkpoint;
}

// As the agreed optimiser has no momentum.
Checkpoint WithoutVelocity() {
  Checkpoint checkpoint = Sample();
  checkpoint.velocity = {};
  return checkpoint;
}

constexpr StateSize kSize{.parameters = 3, .velocity = 3};
constexpr StateSize kSizeWithoutVelocity{.parameters = 3, .velocity = 0};

std::string Refusal(const base::Bytes& bytes, const StateSize& size = kSize) {
  const auto read = ReadCheckpoint(bytes, Sample().federation, Sample().training, size);
  EXPECT_FALSE(read.ok());
  return base::Message(read.status());
}

TEST(CheckpointTest, RoundTrip) {
  const base::Bytes whole = WriteCheckpoint(Sample());
  EXPECT_EQ(whole.size(), CheckpointFieldBytes(kSize) + 16);
  ASSERT_OK_AND_ASSIGN(const auto read,
                       ReadCheckpoint(whole, Sample().federation, Sample().training, kSize));
  EXPECT_EQ(read.next_round, 7u);
  EXPECT_EQ(read.model, Sample().model);
  EXPECT_EQ(read.velocity, Sample().velocity);
}

TEST(CheckpointTest, HoldsAVelocityOnlyWhereTheOptimiserHasMomentum) {
  const base::Bytes whole = WriteCheckpoint(WithoutVelocity());
  EXPECT_EQ(whole.size(), CheckpointFieldBytes(kSizeWithoutVelocity) + 16);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadCheckpoint(whole, Sample().federation,
                                                       Sample().training, kSizeWithoutVelocity));
  EXPECT_EQ(read.model, Sample().model);
  EXPECT_TRUE(read.velocity.empty());
  EXPECT_EQ(*TrainingOfCheckpoint(whole, Sample().federation), 5u);
  EXPECT_THAT(Refusal(whole), HasSubstr("velocity has 0 values, the agreed optimiser's has 3"));
  EXPECT_THAT(Refusal(WriteCheckpoint(Sample()), kSizeWithoutVelocity),
              HasSubstr("velocity has 3 values, the agreed optimiser's has 0"));

  agreement::ManifestSpec spec{.dimension = 3};
  EXPECT_EQ(StateSizeOf(spec).velocity, 0u);
  spec.optimizer.momentum = 0.5;
  EXPECT_EQ(StateSizeOf(spec).velocity, 3u);
}

TEST(CheckpointTest, AnyOtherByteMakesAnotherCheckpoint) {
  std::vector<Checkpoint> others(8, Sample());
  others[0].federation[31] ^= 1;
  others[1].next_round = 8;
  others[2].model[1] = -3;
  others[3].model.push_back(0);
  others[4].velocity[2] = 0;
  others[5].velocity.pop_back();
  others[6].velocity[0] = -0.0F;  // equal as a number
  others[7].training = 0;
  for (const Checkpoint& other : others) {
    EXPECT_NE(WriteCheckpoint(other), WriteCheckpoint(Sample()));
  }
}

TEST(CheckpointTest, RefusesEveryFlippedByteAndEveryLength) {
  for (const StateSize& size : {kSize, kSizeWithoutVelocity}) {
    const base::Bytes whole = WriteCheckpoint(size.velocity == 0 ? WithoutVelocity() : Sample());
    for (size_t i = 0; i < whole.size(); ++i) {
      base::Bytes bytes = whole;
      bytes[i] ^= 1;
      EXPECT_FALSE(ReadCheckpoint(bytes, Sample().federation, Sample().training, size).ok()) << i;
      Refusal(base::Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(i)), size);
    }
    base::Bytes longer = whole;
    longer.push_back(0);
    Refusal(longer, size);
  }
  base::Bytes longer = WriteCheckpoint(Sample());
  longer.push_back(0);
  EXPECT_THAT(Refusal(longer), HasSubstr("checksum"));
}

TEST(CheckpointTest, RefusesACountThatItsLengthDoesNotHold) {
  for (const uint64_t parameters : {uint64_t{15}, uint64_t{1} << 61, ~uint64_t{0}}) {
    base::Bytes bytes = WriteCheckpointFields(Sample());
    base::ByteWriter field;
    field.U64(parameters);
    std::ranges::copy(field.bytes(), bytes.begin() + 46);
    const auto read = ReadCheckpointFields(bytes, Sample().federation, Sample().training,
                                           {.parameters = parameters});
    EXPECT_THAT(base::Message(read.status()), HasSubstr("too few for the")) << parameters;
  }
}

TEST(CheckpointTest, RefusesTheFormerVersionByItsNumber) {
  base::Bytes old = WriteCheckpoint(Sample());
  old[4] = 1;
  EXPECT_THAT(Refusal(old), HasSubstr("field `version` is 1, this program reads version 2"));
}

TEST(CheckpointTest, ItsFieldsAloneHoldNoChecksum) {
  const base::Bytes fields = WriteCheckpointFields(Sample());
  const base::Bytes whole = WriteCheckpoint(Sample());
  EXPECT_TRUE(std::ranges::equal(fields, std::span(whole).first(whole.size() - 16)));
  ASSERT_OK_AND_ASSIGN(const auto read,
                       ReadCheckpointFields(fields, Sample().federation, Sample().training, kSize));
  EXPECT_EQ(read.velocity, Sample().velocity);
  EXPECT_FALSE(ReadCheckpointFields(whole, Sample().federation, Sample().training, kSize).ok());
}

// The velocity without momentum is absent, not zero: the state digest differs from the model's.
TEST(CheckpointTest, DigestsFollowEveryValueAndTheKey) {
  const auto key = [](uint8_t number) {
    crypto::SecretBytes bytes(secagg::DigestKey::kBytes);
    bytes.Expose()[0] = number;
    return secagg::DigestKey(std::move(bytes));
  };
  const StateDigests digests = DigestsOf(Sample(), key(1));
  EXPECT_EQ(DigestsOf(Sample(), key(1)), digests);
  Checkpoint other = Sample();
  other.velocity[1] = 2;
  EXPECT_EQ(DigestsOf(other, key(1)).model, digests.model);
  EXPECT_NE(DigestsOf(other, key(1)).state, digests.state);
  other = Sample();
  other.model[0] = 2;
  EXPECT_NE(DigestsOf(other, key(1)).model, digests.model);
  EXPECT_NE(DigestsOf(other, key(1)).state, digests.state);
  EXPECT_NE(DigestsOf(Sample(), key(2)).model, digests.model);
  EXPECT_NE(DigestsOf(Sample(), key(2)).state, digests.state);
  EXPECT_NE(DigestsOf(WithoutVelocity(), key(1)).state, digests.model);
}

TEST(CheckpointTest, NamesItsTraining) {
  const base::Bytes whole = WriteCheckpoint(Sample());
  EXPECT_EQ(*TrainingOfCheckpoint(whole, Sample().federation), 5u);
  const auto another = ReadCheckpoint(whole, Sample().federation, 4, kSize);
  EXPECT_EQ(another.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(another.status()),
              HasSubstr("belongs to the training of epoch 5, expected that of epoch 4"));
  EXPECT_EQ(TrainingOfCheckpoint(whole, crypto::Digest{}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (size_t i = 0; i < whole.size(); ++i) {
    base::Bytes bytes = whole;
    bytes[i] ^= 1;
    EXPECT_EQ(TrainingOfCheckpoint(bytes, Sample().federation).status().code(),
              absl::StatusCode::kDataLoss)
        << i;
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(TrainingOfCheckpoint(std::span(whole).first(size), Sample().federation).ok());
  }
}

TEST(CheckpointTest, RefusesAnotherModelAndAnotherRun) {
  EXPECT_THAT(Refusal(WriteCheckpoint(Sample()), {.parameters = 4, .velocity = 4}),
              HasSubstr("field `parameters` is 3, the model has 4"));
  Checkpoint other = Sample();
  other.federation.fill(4);
  EXPECT_THAT(Refusal(WriteCheckpoint(other)), HasSubstr("run with other settings"));
}

}  // namespace
}  // namespace tacet::protocol
