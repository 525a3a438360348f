#include "tacet/training/clipped_sums.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/data/csv_for_test.h"
#include "tacet/models/reference_network_for_test.h"
#include "tacet/training/learner.h"

namespace tacet::training {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr size_t kInputs = 6;

// `records` samples of one client; three records in a row are one person.
data::DatasetSpec Samples(size_t records, uint64_t clients = 1) {
  std::mt19937 generator(9);
  std::uniform_real_distribution<float> law(-1, 1);
  data::DatasetSpec spec;
  spec.name = "samples";
  spec.input_shape = {kInputs};
  spec.classes = 2;
  std::vector<float> features;
  for (uint64_t client = 0; client < clients; ++client) {
    spec.client_names.push_back("site-" + std::to_string(client));
  }
  for (size_t i = 0; i < records; ++i) {
    for (size_t j = 0; j < kInputs; ++j) features.push_back(law(generator));
    spec.labels.push_back(static_cast<uint32_t>(generator() % 2));
    spec.sample_clients.push_back(static_cast<uint32_t>(i % clients));
    spec.sample_persons.push_back(static_cast<uint32_t>(i / 3));
  }
  spec.features = std::move(features);
  return spec;
}

struct Site {
  std::unique_ptr<trainer::Learner> learner;
  std::unique_ptr<trainer::Trainer> trainer;
  std::vector<float> model;

  std::vector<float> Sum(const std::vector<uint32_t>& units, double clip_norm,
                         uint64_t client = 0) const {
    std::vector<float> sum(model.size(), std::nanf(""));
    const absl::Status status = trainer->SumClippedGradients(model, client, units, clip_norm, sum);
    EXPECT_TRUE(status.ok()) << status;
    return sum;
  }
};

Site MakeSite(data::Dataset samples, accounting::Unit unit, const std::string& model = "mlp") {
  LearnerSpec spec;
  spec.model = model;
  spec.hidden = {5};
  spec.held_out_share = 0;
  spec.last_layer_gain = 1;
  spec.unit = unit;
  Site site;
  site.learner = base::ValueOf(NewLearner(spec, std::move(samples)));
  site.trainer = *site.learner->NewTrainer();
  site.model = site.learner->InitialModel();
  return site;
}

Site MakeSite(data::DatasetSpec samples, accounting::Unit unit, const std::string& model = "mlp") {
  return MakeSite(*data::Dataset::Create(std::move(samples)), unit, model);
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    square += difference * difference;
  }
  return std::sqrt(square);
}

std::vector<uint32_t> Range(uint32_t count) {
  std::vector<uint32_t> units(count);
  for (uint32_t i = 0; i < count; ++i) units[i] = i;
  return units;
}

TEST(ClippedSumsTest, EachRecordIsClippedByItself) {
  const data::DatasetSpec samples = Samples(90);
  const Site site = MakeSite(samples, accounting::Unit::kRecord);
  EXPECT_EQ(site.learner->units(0), 90u);
  // Which row is unit u is the split's choice: the sum over all does not depend on it.
  const models::Architecture architecture = *models::Architecture::Create(
      {.model = "mlp", .input_shape = {kInputs}, .hidden = {5}, .classes = 2});
  const std::vector<double> parameters(site.model.begin(), site.model.end());
  const auto& features = std::get<std::vector<float>>(samples.features);
  const double clip_norm = 0.6;
  std::vector<float> expected(site.model.size());
  std::vector<double> sum(site.model.size(), 0.0);
  size_t clipped = 0;
  for (size_t i = 0; i < 90; ++i) {
    const auto first = features.begin() + static_cast<ptrdiff_t>(i * kInputs);
    const std::vector<double> input(first, first + kInputs);
    const auto gradient =
        models::RunReference(architecture, parameters, input, std::vector{samples.labels[i]})
            .gradient;
    double square = 0;
    for (const double value : gradient) square += value * value;
    const double factor = std::min(1.0, clip_norm * (1 - kClippingSlack) / std::sqrt(square));
    clipped += factor < 1 ? 1 : 0;
    for (size_t p = 0; p < sum.size(); ++p) sum[p] -= factor * gradient[p];
  }
  EXPECT_GT(clipped, 20u);
  EXPECT_LT(clipped, 90u);
  for (size_t p = 0; p < sum.size(); ++p) expected[p] = static_cast<float>(sum[p]);
  EXPECT_LT(Distance(site.Sum(Range(90), clip_norm), expected), 1e-5 * 90 * clip_norm);
}

// A person of a table under four spellings moves a sum by one clip norm.
TEST(ClippedSumsTest, SpellingsOfOnePersonAreClippedTogether) {
  const auto table =
      data::ParseCsv("id,x,y,ill\n1007,1,1,1\n00001007,1,1,1\n1007.0,1,1,1\n1007\xC2\xA0,1,1,1\n",
                     "site.csv", {.label = "ill", .client = "", .classes = 2, .person = "id"});
  ASSERT_TRUE(table.ok()) << table.status();
  const Site site = MakeSite(*table, accounting::Unit::kPerson, "logistic");
  EXPECT_EQ(site.learner->units(0), 1u);
  const auto units = static_cast<uint32_t>(site.learner->units(0));
  const std::vector<float> sum = site.Sum(Range(units), 0.01);
  EXPECT_LE(Distance(sum, std::vector<float>(sum.size(), 0)), 0.01);
}

// Whether a row can be read moves its own unit, and no bit of another one.
TEST(ClippedSumsTest, ARowThatCannotBeReadMovesNoOtherUnit) {
  constexpr size_t kBad = 300;  // of person 100
  data::DatasetSpec bad = Samples(600);
  std::fill_n(std::get<std::vector<float>>(bad.features).begin() + kBad * kInputs, kInputs,
              data::kUnreadable);
  for (const auto unit : {accounting::Unit::kRecord, accounting::Unit::kPerson}) {
    const Site good = MakeSite(Samples(600), unit), site = MakeSite(bad, unit);
    const auto units = static_cast<uint32_t>(good.learner->units(0));
    ASSERT_EQ(site.learner->units(0), units);
    size_t other = 0, zero = 0;
    for (uint32_t u = 0; u < units; ++u) {
      const std::vector<float> sum = site.Sum({u}, 1e9);
      other += sum != good.Sum({u}, 1e9) ? 1 : 0;
      zero += std::ranges::all_of(sum, [](float value) { return value == 0; }) ? 1 : 0;
    }
    EXPECT_EQ(other, 1u);
    EXPECT_EQ(zero, unit == accounting::Unit::kRecord ? 1u : 0u);
    EXPECT_LE(Distance(good.Sum(Range(units), 0.01), site.Sum(Range(units), 0.01)), 0.01);
  }
  // A person of whom no row can be read.
  std::fill_n(std::get<std::vector<float>>(bad.features).begin() + kBad * kInputs, 3 * kInputs,
              data::kUnreadable);
  const Site site = MakeSite(bad, accounting::Unit::kPerson);
  size_t zero = 0;
  for (uint32_t u = 0; u < site.learner->units(0); ++u) {
    const std::vector<float> sum = site.Sum({u}, 1);
    zero += std::ranges::all_of(sum, [](float value) { return value == 0; }) ? 1 : 0;
  }
  EXPECT_EQ(zero, 1u);
}

TEST(ClippedSumsTest, NobodyGivesZeros) {
  for (const auto unit : {accounting::Unit::kRecord, accounting::Unit::kPerson}) {
    EXPECT_THAT(MakeSite(Samples(9), unit).Sum({}, 1), Each(0.0f));
  }
}

TEST(ClippedSumsTest, APersonsRecordsAreAddedAndThenClipped) {
  const Site records = MakeSite(Samples(30), accounting::Unit::kRecord);
  const Site persons = MakeSite(Samples(30), accounting::Unit::kPerson);
  EXPECT_EQ(persons.learner->units(0), 10u);
  const double infinity = std::numeric_limits<double>::infinity();
  // Unclipped both are the gradient of everything.
  EXPECT_LT(Distance(records.Sum(Range(30), infinity), persons.Sum(Range(10), infinity)), 1e-5);
  for (uint32_t person = 0; person < 10; ++person) {
    const std::vector<float> sum = persons.Sum({person}, 1e-3);
    const std::vector<float> zeros(sum.size());
    EXPECT_NEAR(Distance(sum, zeros), 1e-3 * (1 - kClippingSlack), 1e-8);
    // In the direction of the unclipped sum.
    std::vector<float> longer = persons.Sum({person}, infinity);
    const double scale = 1e-3 * (1 - kClippingSlack) / Distance(longer, zeros);
    for (float& value : longer) value = static_cast<float>(scale * value);
    EXPECT_LT(Distance(sum, longer), 1e-8);
  }
}

TEST(ClippedSumsTest, APersonAtTwoSitesIsAUnitAtEach) {
  const Site site = MakeSite(Samples(30, 2), accounting::Unit::kPerson);
  EXPECT_EQ(site.learner->units(0), 10u);
  EXPECT_EQ(site.learner->units(1), 10u);
}

// A sum that is clamped and quantised afterwards moves by at most C for any record, whatever lies
// next to it: zero-out by C, replace-one by 2 C.
TEST(ClippedSumsTest, NoRecordMovesTheSumByMoreThanTheClipNorm) {
  constexpr size_t kRecords = 300;
  const double huge = std::numeric_limits<float>::max();
  const std::vector<float> extremes = {
      static_cast<float>(huge), static_cast<float>(-huge), 1e30f, 1e-30f, 0.0f, 1.0f};
  for (const auto unit : {accounting::Unit::kRecord, accounting::Unit::kPerson}) {
    for (const double clip_norm : {1e-3, 1.0, 50.0}) {
      std::vector<std::vector<float>> sums;
      std::vector<uint32_t> without = Range(unit == accounting::Unit::kRecord ? kRecords : 100);
      const uint32_t last = without.back();
      without.pop_back();
      double largest = 0;
      for (size_t form = 0; form <= extremes.size(); ++form) {
        data::DatasetSpec samples = Samples(kRecords);
        auto& features = std::get<std::vector<float>>(samples.features);
        // The same row, whichever unit it becomes: all of them are tried.
        for (size_t j = 0; j < kInputs && form < extremes.size(); ++j) {
          features[7 * kInputs + j] = j % 2 == 0 ? extremes[form] : -extremes[form];
        }
        const Site site = MakeSite(std::move(samples), unit);
        std::vector<uint32_t> all = without;
        all.push_back(last);
        sums.push_back(site.Sum(all, clip_norm));
        for (uint32_t left_out = 0; left_out <= last; left_out += 7) {
          std::vector<uint32_t> others = all;
          others.erase(others.begin() + left_out);
          largest = std::max(largest, Distance(sums.back(), site.Sum(others, clip_norm)));
        }
      }
      EXPECT_LE(largest, clip_norm);
      for (const auto& sum : sums) EXPECT_LE(Distance(sum, sums[0]), 2 * clip_norm);
    }
  }
}

TEST(ClippedSumsTest, DuplicatesCountOnceEach) {
  data::DatasetSpec samples = Samples(64);
  auto& features = std::get<std::vector<float>>(samples.features);
  for (size_t i = 1; i < 64; ++i) {
    std::copy_n(features.begin(), kInputs, features.begin() + static_cast<ptrdiff_t>(i * kInputs));
    samples.labels[i] = samples.labels[0];
  }
  const Site site = MakeSite(std::move(samples), accounting::Unit::kRecord);
  const std::vector<float> one = site.Sum({5}, 0.1);
  std::vector<float> many = site.Sum(Range(64), 0.1);
  for (float& value : many) value /= 64;
  EXPECT_LT(Distance(one, many), 1e-7);
}

TEST(ClippedSumsTest, RefusesWhatDoesNotFit) {
  const Site site = MakeSite(Samples(9), accounting::Unit::kRecord);
  std::vector<float> sum(site.model.size());
  const auto refusal = [&](const std::vector<uint32_t>& units, uint64_t client, double clip_norm) {
    return base::Message(
        site.trainer->SumClippedGradients(site.model, client, units, clip_norm, sum));
  };
  EXPECT_THAT(refusal({0, 9}, 0, 1), HasSubstr("increasing and below 9"));
  EXPECT_THAT(refusal({1, 1}, 0, 1), HasSubstr("increasing and below 9"));
  EXPECT_THAT(refusal({0}, 1, 1), HasSubstr("client 1 where there are 1"));
  EXPECT_THAT(refusal({0}, 0, 0), HasSubstr("clip_norm is 0"));
  EXPECT_THAT(base::Message(site.trainer->Train(site.model, 0, 0, sum)),
              HasSubstr("made for unit record"));
  data::DatasetSpec nameless = Samples(9);
  nameless.sample_persons.clear();
  LearnerSpec spec;
  spec.model = "logistic";
  spec.unit = accounting::Unit::kPerson;
  EXPECT_THAT(base::Message(NewLearner(spec, *data::Dataset::Create(nameless)).status()),
              HasSubstr("needs to know which person"));
}

}  // namespace
}  // namespace tacet::training
