#include "tacet/training/learner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/data/handwriting.h"

namespace tacet::training {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

data::Dataset Drawn(uint64_t writers) {
  return *data::DrawHandwriting(
      {.writers = writers, .min_samples = 25, .max_samples = 45, .classes = 10});
}

std::unique_ptr<trainer::Learner> MakeLearner(const LearnerSpec& spec, data::Dataset dataset) {
  return base::ValueOf(NewLearner(spec, std::move(dataset)));
}

std::vector<float> Update(const trainer::Learner& learner, trainer::Trainer& trainer,
                          const std::vector<float>& model, uint32_t round, uint64_t client) {
  std::vector<float> update(learner.dimension(), std::numeric_limits<float>::quiet_NaN());
  const absl::Status status = trainer.Train(model, round, client, update);
  EXPECT_TRUE(status.ok()) << status;
  return update;
}

// Clients with 0, 1, 2 and 30 samples of two features.
data::Dataset Uneven() {
  data::DatasetSpec spec;
  spec.name = "uneven";
  spec.input_shape = {2};
  spec.classes = 2;
  spec.client_names = {"none", "one", "two", "many"};
  std::vector<float> features;
  for (uint32_t i = 0; i < 33; ++i) {
    features.insert(features.end(), {static_cast<float>(i % 2), 1.0f});
    spec.labels.push_back(i % 2);
    spec.sample_clients.push_back(i == 0 ? 1 : i < 3 ? 2 : 3);
  }
  spec.features = std::move(features);
  return *data::Dataset::Create(std::move(spec));
}

TEST(LearnerTest, UpdatesDependOnModelRoundAndClientOnly) {
  for (const char* model : {"femnist-cnn", "femnist-cnn-norm", "mlp", "logistic"}) {
    const auto learner = MakeLearner({.model = model, .local_epochs = 2}, Drawn(3));
    const std::vector<float> start = learner->InitialModel();
    EXPECT_EQ(start, learner->InitialModel());
    const auto first = *learner->NewTrainer(), second = *learner->NewTrainer();
    const std::vector<float> expected = Update(*learner, *first, start, 4, 1);

    Update(*learner, *second, expected, 2, 2);  // something else before
    std::vector<float> elsewhere, beside;
    std::thread one([&] { elsewhere = Update(*learner, *second, start, 4, 1); });
    std::thread two([&] { beside = Update(*learner, *first, start, 4, 1); });
    one.join();
    two.join();
    EXPECT_EQ(elsewhere, expected) << model;
    EXPECT_EQ(beside, expected) << model;
    EXPECT_NE(Update(*learner, *first, start, 5, 1), expected) << model;
    EXPECT_NE(Update(*learner, *first, start, 4, 0), expected) << model;
  }
}

TEST(LearnerTest, TheSeedFixesInitialModelSplitAndBatches) {
  const auto one = MakeLearner({.model = "logistic", .seed = 5}, Drawn(2));
  const auto same = MakeLearner({.model = "logistic", .seed = 5}, Drawn(2));
  const auto other = MakeLearner({.model = "logistic", .seed = 6}, Drawn(2));
  const std::vector<float> model = one->InitialModel();
  EXPECT_EQ(model, same->InitialModel());
  EXPECT_NE(model, other->InitialModel());
  const std::vector<float> update = Update(*one, **one->NewTrainer(), model, 0, 0);
  EXPECT_EQ(update, Update(*same, **same->NewTrainer(), model, 0, 0));
  EXPECT_NE(update, Update(*other, **other->NewTrainer(), model, 0, 0));
}

TEST(LearnerTest, EvaluationIsTheSameOnAnyNumberOfThreads) {
  const auto learner = MakeLearner({.model = "mlp", .held_out_share = 0.5}, Drawn(40));
  const std::vector<float> model = learner->InitialModel();
  ASSERT_OK_AND_ASSIGN(const auto one, learner->Evaluate(model, 1));
  EXPECT_GT(one.samples, 512u);  // more than two chunks
  for (const int threads : {2, 3, 8}) {
    ASSERT_OK_AND_ASSIGN(const auto many, learner->Evaluate(model, threads));
    EXPECT_EQ(many.loss, one.loss);
    EXPECT_EQ(many.accuracy, one.accuracy);
    EXPECT_EQ(many.samples, one.samples);
  }
}

// Steps along a part alone: what it sends does not know that the rest could have moved.
TEST(LearnerTest, OnlyTheFederatedPartIsTrained) {
  for (const char* model : {"femnist-cnn", "mlp"}) {
    const LearnerSpec all{.model = model, .seed = 3};
    LearnerSpec part = all;
    part.federated = {"dense2"};
    const auto whole = MakeLearner(all, Drawn(2));
    const auto learner = MakeLearner(part, Drawn(2));
    EXPECT_EQ(learner->federated_part(), "dense2");
    const std::vector<float> start = whole->InitialModel();
    const std::vector<float> own = learner->InitialModel();
    const size_t d = learner->dimension(), before = start.size() - d;  // the last layer
    EXPECT_EQ(own, std::vector<float>(start.begin() + static_cast<ptrdiff_t>(before), start.end()));
    EXPECT_EQ(learner->WholeModel(own), start);
    EXPECT_EQ(learner->Evaluate(own, 1)->loss, whole->Evaluate(start, 1)->loss);

    // One batch of everything: gradients at the start, so both make the same step along the part.
    const std::vector<float> update = Update(*learner, **learner->NewTrainer(), own, 0, 1);
    EXPECT_TRUE(std::ranges::any_of(update, [](float value) { return value != 0; }));
    LearnerSpec one_batch = all;
    one_batch.batch = 64;
    LearnerSpec one_batch_of_part = part;
    one_batch_of_part.batch = 64;
    const auto full = MakeLearner(one_batch, Drawn(2));
    const auto partly = MakeLearner(one_batch_of_part, Drawn(2));
    const std::vector<float> full_update = Update(*full, **full->NewTrainer(), start, 0, 1);
    const std::vector<float> part_update = Update(*partly, **partly->NewTrainer(), own, 0, 1);
    EXPECT_EQ(part_update, std::vector<float>(full_update.begin() + static_cast<ptrdiff_t>(before),
                                              full_update.end()))
        << model;
    // After the first batch the other layers would have moved.
    const std::vector<float> many = Update(*whole, **whole->NewTrainer(), start, 0, 1);
    EXPECT_NE(update,
              std::vector<float>(many.begin() + static_cast<ptrdiff_t>(before), many.end()));
  }
}

TEST(LearnerTest, TrainingStartsFromAGivenModel) {
  const auto drawn = MakeLearner({.model = "logistic", .seed = 5}, Drawn(2));
  std::vector<float> start = drawn->InitialModel();
  start[3] = 0.5f;
  EXPECT_EQ(MakeLearner({.model = "logistic", .start = start}, Drawn(2))->InitialModel(), start);
  start.pop_back();
  EXPECT_THAT(base::Message(NewLearner({.model = "logistic", .start = start}, Drawn(2)).status()),
              HasSubstr("the start has"));
  EXPECT_THAT(base::Message(NewLearner({.model = "logistic",
                                        .federated = {"dense1"},
                                        .unit = accounting::Unit::kRecord},
                                       Drawn(2))
                                .status()),
              HasSubstr("a part of the model is for unit client, not record"));
}

TEST(LearnerTest, ClientsWithFewSamplesTrainAndThoseWithNoneStandStill) {
  const auto learner = MakeLearner({.model = "logistic", .batch = 7}, Uneven());
  EXPECT_EQ(learner->clients(), 4u);
  EXPECT_EQ(learner->training_samples(0), 0u);
  EXPECT_EQ(learner->training_samples(1), 1u);
  EXPECT_EQ(learner->training_samples(3), 27u);  // the last batch has six
  const auto trainer = *learner->NewTrainer();
  const std::vector<float> model = learner->InitialModel();
  EXPECT_THAT(Update(*learner, *trainer, model, 0, 0), Each(0.0f));
  for (const uint64_t client : {1, 2, 3}) {
    const std::vector<float> update = Update(*learner, *trainer, model, 0, client);
    EXPECT_TRUE(std::ranges::any_of(update, [](float value) { return value != 0; })) << client;
    EXPECT_TRUE(std::ranges::all_of(update, [](float value) { return std::isfinite(value); }));
  }
}

// A row that cannot be read changes neither training nor evaluation.
TEST(LearnerTest, RowsThatCannotBeReadAreNotLearned) {
  data::DatasetSpec spec;
  spec.name = "some";
  spec.input_shape = {2};
  spec.client_names = {"one", "two"};
  spec.classes = 2;
  std::vector<float> features;
  for (uint32_t i = 0; i < 60; ++i) {
    const bool is_bad = i >= 50 || i % 5 == 0;
    const float value = is_bad ? data::kUnreadable : static_cast<float>(i % 2);
    features.insert(features.end(), {value, value});
    spec.labels.push_back(is_bad ? 0 : i % 2);
    spec.sample_clients.push_back(i < 50 ? 0 : 1);
  }
  spec.features = features;
  const auto learner = MakeLearner({.model = "logistic", .held_out_share = 0.5, .batch = 4},
                                   base::ValueOf(data::Dataset::Create(spec)));
  const auto trainer = *learner->NewTrainer();
  std::vector<float> model = learner->InitialModel();
  EXPECT_EQ(learner->training_samples(1), 0u);
  EXPECT_THAT(Update(*learner, *trainer, model, 0, 1), Each(0.0f));
  for (uint32_t round = 0; round < 40; ++round) {
    const std::vector<float> update = Update(*learner, *trainer, model, round, 0);
    for (size_t i = 0; i < model.size(); ++i) model[i] += update[i];
  }
  ASSERT_OK_AND_ASSIGN(const trainer::Evaluation evaluation, learner->Evaluate(model, 2));
  EXPECT_EQ(learner->training_samples(0) + evaluation.samples, 40u);
  EXPECT_EQ(evaluation.accuracy, 1);
  EXPECT_LT(*evaluation.loss, std::log(2));
}

TEST(LearnerTest, ASampleCapBoundsARound) {
  const auto learner = MakeLearner({.model = "logistic", .sample_cap = 5}, Uneven());
  EXPECT_EQ(learner->training_samples(1), 1u);
  EXPECT_EQ(learner->training_samples(3), 5u);
  const auto all = MakeLearner({.model = "logistic"}, Uneven());
  const std::vector<float> model = learner->InitialModel();
  EXPECT_NE(Update(*learner, **learner->NewTrainer(), model, 0, 3),
            Update(*all, **all->NewTrainer(), model, 0, 3));
}

TEST(LearnerTest, EveryRoundDrawsItsOwnBatchesAndSamples) {
  for (const uint32_t cap : {0u, 5u}) {
    const auto learner = MakeLearner(
        {.model = "logistic", .sample_cap = cap, .learning_rate = 0.1, .learning_rate_final = 0.1},
        Drawn(1));
    const auto trainer = *learner->NewTrainer();
    const std::vector<float> model = learner->InitialModel();
    EXPECT_NE(Update(*learner, *trainer, model, 0, 0), Update(*learner, *trainer, model, 1, 0))
        << cap;
  }
}

// One sample, logistic: the update is -rate * gradient, so its size follows the schedule.
TEST(LearnerTest, TheLocalRateFallsGeometrically) {
  const auto learner = MakeLearner(
      {.model = "logistic", .learning_rate = 0.4, .learning_rate_final = 0.1, .rounds = 5},
      Uneven());
  const auto trainer = *learner->NewTrainer();
  const std::vector<float> model = learner->InitialModel();
  const double first = Update(*learner, *trainer, model, 0, 1).back();
  EXPECT_NEAR(Update(*learner, *trainer, model, 2, 1).back() / first, 0.5, 1e-6);
  EXPECT_NEAR(Update(*learner, *trainer, model, 4, 1).back() / first, 0.25, 1e-6);
  EXPECT_NEAR(Update(*learner, *trainer, model, 9, 1).back() / first, 0.25, 1e-6);
}

TEST(LearnerTest, FederatedAveragingLearnsDrawnHandwriting) {
  data::Dataset dataset = Drawn(30);
  const double guessing = data::MostFrequentClassShare(dataset);
  const auto learner =
      MakeLearner({.model = "mlp", .hidden = {48}, .rounds = 12}, std::move(dataset));
  const auto trainer = *learner->NewTrainer();
  std::vector<float> model = learner->InitialModel();
  for (uint32_t round = 0; round < 12; ++round) {
    std::vector<double> average(model.size(), 0.0);
    for (uint64_t client = 0; client < learner->clients(); ++client) {
      const std::vector<float> update = Update(*learner, *trainer, model, round, client);
      for (size_t i = 0; i < average.size(); ++i) average[i] += update[i] / 30.0;
    }
    for (size_t i = 0; i < model.size(); ++i) model[i] += static_cast<float>(3 * average[i]);
  }
  const auto before = learner->Evaluate(learner->InitialModel(), 1);
  const auto after = learner->Evaluate(model, 2);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_LT(after->loss, 0.7 * *before->loss);
  EXPECT_GT(after->accuracy, guessing + 0.4);
}

TEST(LearnerTest, TheConvolutionalNetworkLearnsItsClient) {
  const auto learner = MakeLearner({.local_epochs = 5, .learning_rate = 0.1}, Drawn(1));
  const auto trainer = *learner->NewTrainer();
  std::vector<float> model = learner->InitialModel();
  const auto before = learner->Evaluate(model, 1);
  for (uint32_t round = 0; round < 2; ++round) {
    const std::vector<float> update = Update(*learner, *trainer, model, round, 0);
    for (size_t i = 0; i < model.size(); ++i) model[i] += update[i];
  }
  const auto after = learner->Evaluate(model, 1);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_LT(after->loss, 0.9 * *before->loss);
}

TEST(LearnerTest, NamesTheFieldThatIsOutOfRange) {
  const auto expect_error = [](const LearnerSpec& spec, const std::string& message) {
    const auto result = NewLearner(spec, Uneven());
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(base::Message(result.status()), HasSubstr(message));
  };
  expect_error({.model = "cnn"}, "model is \"cnn\"");
  expect_error({.model = "femnist-cnn"}, "needs images");
  expect_error({.model = "mlp", .hidden = {}}, "at least one hidden layer");
  expect_error({.model = "logistic", .classes = 1}, "classes is 1, but uneven has 2");
  expect_error({.model = "logistic", .held_out_share = 1}, "held_out_share is 1");
  expect_error({.model = "logistic", .last_layer_gain = 0}, "last_layer_gain is 0");
  expect_error({.model = "logistic", .batch = 0}, "batch is 0; it must be 1 to 1024");
  expect_error({.model = "logistic", .batch = 1025}, "batch is 1025");
  expect_error({.model = "logistic", .local_epochs = 0}, "local_epochs is 0");
  expect_error({.model = "logistic", .learning_rate = 0}, "learning_rate is 0");
  expect_error({.model = "logistic", .learning_rate_final = std::nan("")},
               "learning_rate_final is nan");
}

TEST(LearnerTest, UnitsOfSingleRecordsNeedAModelWithoutNorms) {
  for (const auto unit : {accounting::Unit::kRecord, accounting::Unit::kClient}) {
    const auto learner = NewLearner({.model = "femnist-cnn-norm", .unit = unit}, Drawn(3));
    ASSERT_EQ(learner.ok(), unit == accounting::Unit::kClient);
    if (!learner.ok()) {
      EXPECT_THAT(base::Message(learner.status()), HasSubstr("a model without layer norms"));
    }
  }
}

TEST(LearnerTest, RefusesModelsAndClientsThatDoNotExist) {
  const auto learner = MakeLearner({.model = "logistic", .classes = 4}, Uneven());
  EXPECT_EQ(learner->dimension(), 3u * 4);
  const auto trainer = *learner->NewTrainer();
  std::vector<float> model = learner->InitialModel(), update(model.size()), small(5);
  EXPECT_THAT(base::Message(trainer->Train(small, 0, 0, update)),
              HasSubstr("model has 5 parameters, expected 12"));
  EXPECT_THAT(base::Message(trainer->Train(model, 0, 0, small)), HasSubstr("expected 12"));
  EXPECT_THAT(base::Message(trainer->Train(model, 0, 4, update)),
              HasSubstr("client 4 where there are 4"));
  EXPECT_FALSE(learner->Evaluate(small, 1).ok());
  EXPECT_THAT(base::Message(learner->Evaluate(model, 0).status()), HasSubstr("on 0 threads"));
}

}  // namespace
}  // namespace tacet::training
