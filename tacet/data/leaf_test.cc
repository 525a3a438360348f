#include "tacet/data/leaf.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/data/load.h"

namespace tacet::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTwo[] = R"({
  "hierarchies": [["a", 1, {"deep": null}], true],
  "users": ["f_07", "f_12"],
  "num_samples": [2, 1],
  "user_data": {
    "f_12": {"y": [3], "x": [[0.5, 1, -2e-1]]},
    "f_07": {"x": [[0, 1, 2], [3.0, 4, 5]], "y": [1, 0], "more": {}}
  }
})";

absl::StatusOr<Dataset> Parse(std::string_view text) {
  LeafReader reader;
  TACET_RETURN_IF_ERROR(reader.Add(text, "leaf.json"));
  return reader.Finish("leaf.json");
}

std::string LeafRefusal(std::string_view text) {
  const auto dataset = Parse(text);
  EXPECT_FALSE(dataset.ok()) << text;
  return base::Message(dataset.status());
}

// One user, "u", with this data.
std::string User(const std::string& data, const std::string& count = "1") {
  return R"({"users": ["u"], "num_samples": [)" + count + R"(], "user_data": {"u": )" + data + "}}";
}

TEST(LeafTest, UsersAreClients) {
  const auto dataset = Parse(kTwo);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->clients(), 2u);
  EXPECT_EQ(dataset->client_name(0), "f_12");
  EXPECT_EQ(dataset->classes(), 4u);
  EXPECT_THAT(dataset->input_shape(), ElementsAre(3));
  std::vector<float> input(3);
  dataset->CopyInput(dataset->rows(0)[0], input);
  EXPECT_THAT(input, ElementsAre(0.5f, 1.0f, -0.2f));
  ASSERT_EQ(dataset->rows(1).size(), 2u);
  dataset->CopyInput(dataset->rows(1)[1], input);
  EXPECT_THAT(input, ElementsAre(3, 4, 5));
  EXPECT_EQ(dataset->label(dataset->rows(1)[0]), 1u);
}

TEST(LeafTest, SquareInputsAreImages) {
  std::string row;
  for (int i = 0; i < 16; ++i) row += i > 0 ? ",0" : "0";
  const auto dataset = Parse(User("{\"x\": [[" + row + "]], \"y\": [0]}"));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->input_shape(), ElementsAre(4, 4));
}

TEST(LeafTest, FilesOfAFolderAreOneDataSet) {
  const base::TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  std::ofstream(folder / "b.json") << User("{\"x\": [[1, 2, 3]], \"y\": [1]}");
  std::ofstream(folder / "a.json") << kTwo;
  const auto dataset = LoadDataset(folder);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->clients(), 3u);
  EXPECT_EQ(dataset->samples(), 4u);
  std::ofstream(folder / "c.json") << User("{\"x\": [[1, 2]], \"y\": [1]}");
  EXPECT_THAT(base::Message(LoadDataset(folder).status()), HasSubstr("c.json:1:"));
}

TEST(LeafTest, RefusalsNameThePlace) {
  EXPECT_THAT(LeafRefusal(""), HasSubstr("leaf.json:1:1: expected '{'"));
  EXPECT_THAT(LeafRefusal("{}"), HasSubstr("there are no samples"));
  EXPECT_THAT(LeafRefusal("{\n  \"users\": [1]}"), HasSubstr("leaf.json:2:13: expected '\"'"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[1e99]], \"y\": [0]}")), HasSubstr("a finite number"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[nan]], \"y\": [0]}")), HasSubstr("a finite number"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [\"text\"], \"y\": [0]}")), HasSubstr("expected '['"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[1]], \"y\": [0.5]}")), HasSubstr("0.5 is not a class"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[1]], \"y\": [-1]}")), HasSubstr("-1 is not a class"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[1]], \"y\": [1048576]}")), HasSubstr("not a class"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[]], \"y\": [0]}")), HasSubstr("without inputs"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[1], [1, 2]], \"y\": [0, 0]}", "2")),
              HasSubstr("a sample of 2 inputs where others have 1"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[1]], \"y\": []}")),
              HasSubstr("\"u\" has 1 inputs and 0 labels"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[1]], \"y\": [0], \"x\": []}")),
              HasSubstr("has \"x\" twice"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[1]], \"y\": [0]}", "2")),
              HasSubstr("\"u\" has 1 samples, num_samples says 2"));
  EXPECT_THAT(LeafRefusal(R"({"users": ["a"], "num_samples": [0], "user_data": {}})"),
              HasSubstr("1 users, 1 entries of num_samples and data of 0 users"));
  EXPECT_THAT(LeafRefusal(R"({"users": ["a"], "num_samples": [0], "user_data": {"b": {}}})"),
              HasSubstr("\"a\" has no data"));
  EXPECT_THAT(LeafRefusal("{\"users\": [], \"users\": []}"), HasSubstr("\"users\" twice"));
  EXPECT_THAT(LeafRefusal("{\"a\": " + std::string(100, '[')), HasSubstr("nested too deep"));
  EXPECT_THAT(LeafRefusal("{\"a"), HasSubstr("leaf.json:1:2: a string does not end"));
  EXPECT_THAT(LeafRefusal(User("{\"x\": [[1, 2,, 3]], \"y\": [0]}")),
              HasSubstr("expected a finite number"));
  EXPECT_THAT(LeafRefusal(R"({"users": ["a\nb"], "num_samples": [0], "user_data": {"a\nb": {}}})"),
              HasSubstr("a control character in the name of a user"));
  EXPECT_THAT(LeafRefusal(std::string(kTwo) + "x"), HasSubstr("something follows"));
}

}  // namespace
}  // namespace tacet::data
