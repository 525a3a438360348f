#include "tacet/data/dataset.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/status_for_test.h"
#include "tacet/data/split.h"

namespace tacet::data {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DatasetSpec SmallSpec() {
  DatasetSpec spec;
  spec.name = "small";
  spec.input_shape = {1, 2};
  spec.features = std::vector<uint8_t>{0, 255, 51, 102, 1, 2};
  spec.labels = {0, 2, 2};
  spec.sample_clients = {1, 0, 1};
  spec.client_names = {"first", "second", "third"};
  spec.classes = 3;
  return spec;
}

void ExpectError(DatasetSpec spec, const std::string& message) {
  const auto dataset = Dataset::Create(std::move(spec));
  ASSERT_FALSE(dataset.ok()) << message;
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(base::Message(dataset.status()), HasSubstr(message));
}

// It keeps its place, and nothing is seen of it.
TEST(DatasetTest, ASampleMayBeUnreadable) {
  DatasetSpec spec = SmallSpec();
  spec.features = std::vector<float>{1, 2, kUnreadable, kUnreadable, 5, 6};
  spec.labels = {0, 1, 0};
  ASSERT_OK_AND_ASSIGN(const Dataset dataset, Dataset::Create(spec));
  EXPECT_EQ(dataset.samples(), 3u);
  EXPECT_EQ(dataset.readable_samples(), 2u);
  EXPECT_TRUE(dataset.is_readable(0));
  EXPECT_FALSE(dataset.is_readable(1));
  std::vector<float> input(2, 7);
  dataset.CopyInput(1, input);
  EXPECT_THAT(input, ElementsAre(0, 0));
  EXPECT_EQ(MostFrequentClassShare(dataset), 1);
  const ChosenRows own{.client = 0, .rows = {1}};
  ASSERT_OK_AND_ASSIGN(const Dataset chosen, SelectRows(dataset, {&own, 1}, "chosen"));
  EXPECT_FALSE(chosen.is_readable(0));
  spec.features = std::vector<float>{1, 2, 0, 0, 5, 6};
  EXPECT_NE(DatasetDigest(dataset), DatasetDigest(base::ValueOf(Dataset::Create(spec))));
}

// `sizes[o]` samples of client o, dealt out in turns so that no client's rows are neighbours.
constexpr accounting::Unit kRecord = accounting::Unit::kRecord;

Dataset Interleaved(const std::vector<uint32_t>& sizes) {
  DatasetSpec spec;
  spec.name = "interleaved";
  spec.input_shape = {1};
  spec.classes = 2;
  std::vector<float> features;
  for (size_t o = 0; o < sizes.size(); ++o) spec.client_names.push_back(std::to_string(o));
  for (uint32_t turn = 0; turn < *std::ranges::max_element(sizes); ++turn) {
    for (uint32_t o = 0; o < sizes.size(); ++o) {
      if (turn >= sizes[o]) continue;
      features.push_back(static_cast<float>(turn));
      spec.labels.push_back(turn % 2);
      spec.sample_clients.push_back(o);
    }
  }
  spec.features = std::move(features);
  return *Dataset::Create(std::move(spec));
}

TEST(DatasetTest, GroupsRowsByClient) {
  const auto dataset = Dataset::Create(SmallSpec());
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->rows(0), ElementsAre(1));
  EXPECT_THAT(dataset->rows(1), ElementsAre(0, 2));
  EXPECT_THAT(dataset->rows(2), IsEmpty());
  float input[2];
  dataset->CopyInput(1, input);
  EXPECT_THAT(input, ElementsAre(51.0f / 255.0f, 102.0f / 255.0f));
  EXPECT_THAT(dataset->pixels(1), ElementsAre(51, 102));
  EXPECT_DOUBLE_EQ(MostFrequentClassShare(*dataset), 2.0 / 3.0);
}

TEST(DatasetTest, TheDigestIsOfTheSamples) {
  const crypto::Digest digest = DatasetDigest(*Dataset::Create(SmallSpec()));
  DatasetSpec other = SmallSpec();
  other.name = "moved";
  EXPECT_EQ(DatasetDigest(*Dataset::Create(other)), digest);
  other.labels[0] = 1;
  EXPECT_NE(DatasetDigest(*Dataset::Create(other)), digest);
  other = SmallSpec();
  other.sample_clients[0] = 0;
  EXPECT_NE(DatasetDigest(*Dataset::Create(other)), digest);
  other = SmallSpec();
  std::get<0>(other.features)[5] = 3;
  EXPECT_NE(DatasetDigest(*Dataset::Create(other)), digest);
}

TEST(DatasetTest, SpreadsTheClientsItKeeps) {
  const Dataset all = Interleaved({3, 1, 4, 1, 5, 9, 2});
  const auto kept = SpreadClients(all, 3);  // 0, 2 and 4 of 7
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->clients(), 3u);
  EXPECT_EQ(kept->classes(), all.classes());
  const std::vector<uint64_t> from = {0, 2, 4};
  for (uint64_t client = 0; client < 3; ++client) {
    EXPECT_EQ(kept->client_name(client), all.client_name(from[client]));
    ASSERT_EQ(kept->rows(client).size(), all.rows(from[client]).size());
    for (size_t i = 0; i < kept->rows(client).size(); ++i) {
      float was = 0, is = 0;
      all.CopyInput(all.rows(from[client])[i], {&was, 1});
      kept->CopyInput(kept->rows(client)[i], {&is, 1});
      EXPECT_EQ(is, was);
      EXPECT_EQ(kept->label(kept->rows(client)[i]), all.label(all.rows(from[client])[i]));
    }
  }
  EXPECT_EQ(SpreadClients(all, 7)->samples(), all.samples());
  const auto persons = SpreadClients(*SpreadOverSites(all, 2, 1), 1);
  ASSERT_TRUE(persons.ok() && persons->has_persons());
  for (const uint64_t count : {0, 8}) {
    EXPECT_THAT(base::Message(SpreadClients(all, count).status()),
                HasSubstr("of interleaved were asked for, it has 7"));
  }
}

TEST(DatasetTest, RefusesWhatContradictsItself) {
  DatasetSpec spec = SmallSpec();
  spec.labels[1] = 3;
  ExpectError(spec, "small: sample 1 has label 3, there are 3 classes");
  spec = SmallSpec();
  spec.sample_clients[2] = 3;
  ExpectError(spec, "sample 2 belongs to client 3, there are 3 clients");
  spec = SmallSpec();
  spec.sample_clients.pop_back();
  ExpectError(spec, "3 labels but clients of 2 samples");
  spec = SmallSpec();
  spec.labels.push_back(0);
  spec.sample_clients.push_back(0);
  ExpectError(spec, "6 feature values are not 4 samples of 2");
  spec = SmallSpec();
  spec.features = std::vector<float>{1, 2, 3, std::numeric_limits<float>::infinity(), 5, 6};
  ExpectError(spec, "feature 1 of sample 1 is not a finite number");
  spec = SmallSpec();
  spec.features = std::vector<float>{1, 2, kUnreadable, 4, 5, 6};
  ExpectError(spec, "feature 0 of sample 1 is not a finite number");
  spec = SmallSpec();
  spec.client_names.clear();
  ExpectError(spec, "there is no data owner");
  spec = SmallSpec();
  spec.classes = 0;
  ExpectError(spec, "there is no class");
  spec = SmallSpec();
  spec.input_shape = {};
  ExpectError(spec, "samples have no features");
  spec = SmallSpec();
  spec.input_shape = {uint64_t{1} << 33, uint64_t{1} << 33};
  ExpectError(spec, "more than 2^32 - 1 features");
}

TEST(SplitTest, HoldsOutATenthOfEveryClient) {
  const std::vector<uint32_t> sizes = {0, 1, 2, 5, 10, 100, 204};
  const Dataset dataset = Interleaved(sizes);
  const Split split(dataset, 7, 0.1, kRecord);
  const std::vector<size_t> held_out = {0, 0, 0, 1, 1, 10, 20};
  size_t all_held_out = 0;
  std::set<uint32_t> seen(split.held_out_rows().begin(), split.held_out_rows().end());
  for (uint64_t client = 0; client < sizes.size(); ++client) {
    EXPECT_EQ(split.training_rows(client).size(), sizes[client] - held_out[client]) << client;
    const std::span<const uint32_t> rows = dataset.rows(client);
    for (const uint32_t row : split.training_rows(client)) {
      EXPECT_TRUE(std::ranges::binary_search(rows, row));
      EXPECT_TRUE(seen.insert(row).second) << "row " << row << " twice";
    }
    all_held_out += held_out[client];
  }
  EXPECT_EQ(split.held_out_rows().size(), all_held_out);
  EXPECT_EQ(seen.size(), dataset.samples());
}

TEST(DatasetTest, ClientsSpreadOverSitesBecomePersons) {
  const Dataset dataset = Interleaved({3, 5, 2, 4, 1, 6, 2});
  const auto spread = SpreadOverSites(dataset, 3, 1);
  ASSERT_TRUE(spread.ok()) << spread.status();
  EXPECT_EQ(spread->clients(), 3u);
  EXPECT_EQ(spread->client_name(2), "site-2");
  EXPECT_EQ(spread->samples(), dataset.samples());
  std::vector<std::set<uint32_t>> persons(3);
  for (uint64_t site = 0; site < 3; ++site) {
    for (const uint32_t row : spread->rows(site)) persons[site].insert(spread->person(row));
  }
  EXPECT_EQ(persons[0].size(), 3u);
  EXPECT_EQ(persons[1].size(), 2u);
  EXPECT_EQ(persons[2].size(), 2u);
  for (uint32_t client = 0; client < 7; ++client) {
    for (const uint32_t row : dataset.rows(client)) EXPECT_EQ(spread->person(row), client);
  }
  EXPECT_EQ(DatasetDigest(*spread), DatasetDigest(*SpreadOverSites(dataset, 3, 1)));
  EXPECT_NE(DatasetDigest(*spread), DatasetDigest(*SpreadOverSites(dataset, 3, 2)));
  EXPECT_FALSE(SpreadOverSites(dataset, 0, 1).ok());
  EXPECT_FALSE(SpreadOverSites(dataset, 8, 1).ok());
}

TEST(SplitTest, DependsOnTheSeedAndOnNothingElse) {
  const Dataset dataset = Interleaved({100, 50});
  const Split one(dataset, 7, 0.1, kRecord), same(dataset, 7, 0.1, kRecord),
      other(dataset, 8, 0.1, kRecord);
  EXPECT_THAT(one.held_out_rows(), ElementsAreArray(same.held_out_rows()));
  EXPECT_THAT(one.training_rows(1), ElementsAreArray(same.training_rows(1)));
  EXPECT_FALSE(std::ranges::equal(one.held_out_rows(), other.held_out_rows()));
  // The second client's split does not hang on the first one's samples.
  const Dataset shorter = Interleaved({50, 50});
  const Split there(shorter, 7, 0.1, kRecord);
  float a = 0, b = 0;
  for (size_t i = 0; i < 45; ++i) {
    dataset.CopyInput(one.training_rows(1)[i], {&a, 1});
    shorter.CopyInput(there.training_rows(1)[i], {&b, 1});
    EXPECT_EQ(a, b);
  }
}

TEST(SplitTest, AlwaysLeavesASampleToTrainOn) {
  const Dataset dataset = Interleaved({1, 2, 3});
  const Split split(dataset, 1, 0.9, kRecord);
  for (uint64_t client = 0; client < 3; ++client) EXPECT_EQ(split.training_rows(client).size(), 1u);
  const Split nothing(dataset, 1, 0, kRecord);
  EXPECT_THAT(nothing.held_out_rows(), IsEmpty());
}

// The persons of a client, in the order of their first rows, that are held out. `rows_of`: how many
// rows each has, in turns.
std::set<uint32_t> HeldOutPersons(const std::vector<uint32_t>& rows_of, accounting::Unit unit) {
  const Dataset persons = Interleaved(rows_of);
  const Dataset site = *SpreadOverSites(persons, 1, 1);
  const Split split(site, 7, 0.3, unit);
  std::set<uint32_t> held_out;
  for (const uint32_t row : split.held_out_rows()) held_out.insert(site.person(row));
  for (const uint32_t row : split.training_rows(0)) {
    EXPECT_FALSE(unit == accounting::Unit::kPerson && held_out.contains(site.person(row)));
  }
  EXPECT_EQ(split.held_out_rows().size() + split.training_rows(0).size(), site.samples());
  return held_out;
}

// Were rows held out one by one, a person with another number of rows would decide which rows of
// others train: neighbouring tables would differ by more than one person.
TEST(SplitTest, APersonsRowsDecideNothingAboutOtherPersons) {
  std::vector<uint32_t> rows_of(20, 3);
  const std::set<uint32_t> before = HeldOutPersons(rows_of, accounting::Unit::kPerson);
  EXPECT_EQ(before.size(), 6u);
  for (const uint32_t rows : {1U, 2U, 4U, 50U}) {
    rows_of[5] = rows;
    EXPECT_EQ(HeldOutPersons(rows_of, accounting::Unit::kPerson), before) << rows;
  }
  EXPECT_GT(HeldOutPersons(rows_of, kRecord).size(), 6u);
}

}  // namespace
}  // namespace tacet::data
