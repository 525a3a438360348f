// Influence of a single record on the integers that its site seals.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/data/split.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/training/learner.h"

namespace tacet {
namespace {

constexpr size_t kInputs = 5;
constexpr size_t kRecords = 120;
constexpr double kClipNorm = 0.75;
constexpr double kScale = 1e-3;

enum class Form { kAbsent, kUsual, kHuge, kTiny, kConstant, kDuplicate, kFlipped };
constexpr Form kForms[] = {Form::kAbsent,   Form::kUsual,     Form::kHuge,   Form::kTiny,
                           Form::kConstant, Form::kDuplicate, Form::kFlipped};

// A site whose last record has the given form; a record that is absent is simply not drawn.
class Site {
 public:
  explicit Site(Form form) : form_(form) {
    crypto::InsecureSeededEntropy entropy(3, "records");
    crypto::Random random = crypto::Random::FromEntropy(entropy);
    data::DatasetSpec spec;
    spec.name = "site";
    spec.input_shape = {kInputs};
    spec.classes = 2;
    spec.client_names = {"site"};
    std::vector<float> features;
    for (size_t i = 0; i < kRecords * kInputs; ++i) {
      features.push_back(static_cast<float>(random.Below(2001)) / 1000 - 1);
    }
    for (size_t i = 0; i < kRecords; ++i) {
      spec.labels.push_back(static_cast<uint32_t>(random.Below(2)));
    }
    spec.sample_clients.assign(kRecords, 0);
    // The learner orders records by its split: the last of them there is the one that changes.
    const data::Split split(Make(spec, features), 1, 0, accounting::Unit::kRecord);
    const uint32_t row = split.training_rows(0).back();
    float* record = features.data() + row * kInputs;
    for (size_t j = 0; j < kInputs; ++j) {
      const float sign = j % 2 == 0 ? 1.0f : -1.0f;
      switch (form) {
        case Form::kAbsent:
        case Form::kUsual:
        case Form::kFlipped:
          break;
        case Form::kHuge:
          record[j] = sign * std::numeric_limits<float>::max();
          break;
        case Form::kTiny:
          record[j] = sign * std::numeric_limits<float>::denorm_min();
          break;
        case Form::kConstant:
          record[j] = 0;
          break;
        case Form::kDuplicate:
          record[j] = features[(row == 0 ? 1 : 0) * kInputs + j];
          break;
      }
    }
    if (form == Form::kFlipped) spec.labels[row] ^= 1;
    training::LearnerSpec learner;
    learner.model = "mlp";
    learner.hidden = {4};
    learner.held_out_share = 0;
    learner.last_layer_gain = 1;
    learner.unit = accounting::Unit::kRecord;
    learner_ = *training::NewLearner(learner, Make(spec, features));
    trainer_ = *learner_->NewTrainer();
  }

  // Records i < kRecords of which coins say heads; the last one always, unless it is absent.
  std::vector<float> Sum(uint64_t draw) const {
    std::vector<uint32_t> units;
    for (uint32_t i = 0; i + 1 < kRecords; ++i) {
      if ((i * 7 + draw) % 3 == 0) units.push_back(i);
    }
    if (form_ != Form::kAbsent) units.push_back(kRecords - 1);
    std::vector<float> sum(learner_->dimension());
    EXPECT_TRUE(
        trainer_->SumClippedGradients(learner_->InitialModel(), 0, units, kClipNorm, sum).ok());
    return sum;
  }

  uint64_t dimension() const { return learner_->dimension(); }

 private:
  static data::Dataset Make(data::DatasetSpec spec, const std::vector<float>& features) {
    spec.features = features;
    return *data::Dataset::Create(std::move(spec));
  }

  Form form_;
  std::unique_ptr<trainer::Learner> learner_;
  std::unique_ptr<trainer::Trainer> trainer_;
};

dp::Mechanism MakeMechanism(uint64_t dimension, double bound, double noise) {
  dp::MechanismSpec spec;
  spec.dimension = dimension;
  spec.params.clip_norm = kClipNorm;
  spec.params.coordinate_bound = bound;
  spec.params.noise_stddev = noise;
  spec.params.scale = kScale;
  spec.cohort = spec.min_participants = 4;
  spec.attempts = 10;
  spec.sums_of_clipped = true;
  auto plan = dp::MechanismPlan::Create(spec);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return dp::Mechanism(*plan);
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    square += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  }
  return std::sqrt(square);
}

// Given its noise, a site's integers are Poisson with rates (clamped sum + noise - mu) / s: what a
// record moves is the clamped sum, by at most C between being there and not (zero-out) and 2 C
// between any two forms (replace-one), at tight and at loose bounds b.
TEST(RecordInfluenceTest, RatesOfTheSealedIntegersMoveByAtMostTheClipNorm) {
  std::vector<Site> sites;
  for (const Form form : kForms) sites.emplace_back(form);
  double farthest = 0;
  for (const double bound : {0.1, 1.0, 100.0}) {
    const dp::Mechanism mechanism = MakeMechanism(sites[0].dimension(), bound, 1);
    for (uint64_t draw = 0; draw < 3; ++draw) {
      std::vector<std::vector<float>> clamped;
      for (const Site& site : sites) {
        clamped.emplace_back(site.dimension());
        const std::vector<float> sum = site.Sum(draw);
        EXPECT_TRUE(mechanism.Clip(sum, clamped.back()).finite);
      }
      for (size_t a = 0; a < clamped.size(); ++a) {
        EXPECT_LE(Distance(clamped[0], clamped[a]), kClipNorm);
        farthest = std::max(farthest, Distance(clamped[0], clamped[a]));
        for (size_t b = 0; b < a; ++b) EXPECT_LE(Distance(clamped[a], clamped[b]), 2 * kClipNorm);
      }
    }
  }
  EXPECT_GT(farthest, 0.99 * kClipNorm);  // and a long gradient does move them by that much
}

// The integers themselves: 4,000 seals with and without the huge record. Their mean moves along the
// record's direction by its clipped gradient and not more. False alarm 1e-9; a record that is
// clipped to 1.1 C is seen with probability 0.999.
TEST(RecordInfluenceTest, TheSealedIntegersMoveByAtMostTheClipNorm) {
  const Site without(Form::kAbsent);
  std::vector<float> sums[2] = {without.Sum(0), without.Sum(0)};
  double length = 0;
  for (const Form form : kForms) {
    std::vector<float> sum = Site(form).Sum(0);
    if (Distance(sums[0], sum) <= length) continue;
    length = Distance(sums[0], sum);
    sums[1] = std::move(sum);
  }
  ASSERT_GT(length, 0.99 * kClipNorm);
  const dp::Mechanism mechanism = MakeMechanism(without.dimension(), 100, 1);
  constexpr int kSeals = 6000;
  crypto::InsecureSeededEntropy entropy(5, "seals");
  crypto::Random noise = crypto::Random::FromEntropy(entropy);
  crypto::Random poisson = crypto::Random::FromEntropy(entropy);
  double projected[2] = {0, 0};
  std::vector<uint32_t> counts(without.dimension());
  for (int world = 0; world < 2; ++world) {
    std::vector<float> clamped(without.dimension());
    mechanism.Clip(sums[world], clamped);
    for (int seal = 0; seal < kSeals; ++seal) {
      mechanism.NoiseAndQuantize(clamped, noise, poisson, counts);
      for (size_t i = 0; i < counts.size(); ++i) {
        const double direction =
            (static_cast<double>(sums[1][i]) - static_cast<double>(sums[0][i])) / length;
        projected[world] += direction * kScale * counts[i] / kSeals;
      }
    }
  }
  const double deviation =
      std::sqrt(2.0 / kSeals) * std::hypot(mechanism.plan().participant_stddev(),
                                           std::sqrt(mechanism.plan().quantisation_variance(1)));
  EXPECT_LE(projected[1] - projected[0], kClipNorm + 6.1 * deviation);
  EXPECT_GE(projected[1] - projected[0], 0.99 * kClipNorm - 6.1 * deviation);
  EXPECT_LT(6.1 * deviation, 0.1 * kClipNorm);
}

}  // namespace
}  // namespace tacet
