#include "tacet/data/handwriting.h"

#include <algorithm>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"

namespace tacet::data {
namespace {

using ::testing::HasSubstr;

crypto::Digest PixelDigest(const Dataset& dataset) {
  crypto::Sha256Hasher hasher;
  for (uint64_t row = 0; row < dataset.samples(); ++row) hasher.Update(dataset.pixels(row));
  return hasher.Finish();
}

TEST(HandwritingTest, DrawsWhatWasAskedFor) {
  const auto dataset = DrawHandwriting({});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->clients(), 100u);
  EXPECT_EQ(dataset->classes(), 20u);
  EXPECT_THAT(dataset->input_shape(), testing::ElementsAre(28, 28));
  for (uint64_t client = 0; client < dataset->clients(); ++client) {
    EXPECT_GE(dataset->rows(client).size(), 60u);
    EXPECT_LE(dataset->rows(client).size(), 100u);
  }
  EXPECT_LT(MostFrequentClassShare(*dataset), 0.08);
  const std::set<uint32_t> classes(dataset->labels().begin(), dataset->labels().end());
  EXPECT_EQ(classes.size(), 20u);
}

// Ink in the middle, a background at the border: a character, neither blank nor a blot.
TEST(HandwritingTest, EveryPictureLooksLikeACharacter) {
  const auto dataset = DrawHandwriting({.writers = 50});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  uint64_t touching = 0;
  for (uint64_t row = 0; row < dataset->samples(); ++row) {
    const std::span<const uint8_t> pixels = dataset->pixels(row);
    uint64_t dark = 0, border = 0;
    for (size_t i = 0; i < pixels.size(); ++i) {
      if (pixels[i] > 127) ++dark;
      if ((i < 28 || i >= 27 * 28 || i % 28 == 0 || i % 28 == 27) && pixels[i] > 127) ++border;
    }
    EXPECT_GT(dark, 8u) << row;
    EXPECT_LT(dark, 28u * 28 / 2) << row;
    if (border > 0) ++touching;
  }
  EXPECT_LT(touching, dataset->samples() / 50);
}

TEST(HandwritingTest, IsTheSameEverywhere) {
  const HandwritingSpec spec = {.writers = 3, .seed = 9};
  const auto one = DrawHandwriting(spec), two = DrawHandwriting(spec);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(PixelDigest(*one), PixelDigest(*two));
  EXPECT_EQ(base::ToHex(PixelDigest(*one)).substr(0, 16), "0a08c3b9f849a9a7");
  const auto other = DrawHandwriting({.writers = 3, .seed = 10});
  EXPECT_NE(PixelDigest(*one), PixelDigest(*other));
  // A writer does not depend on how many others there are.
  const auto more = DrawHandwriting({.writers = 5, .seed = 9});
  EXPECT_TRUE(std::ranges::equal(one->pixels(100), more->pixels(100)));
}

TEST(HandwritingTest, RefusesImpossibleWishes) {
  const auto expect_error = [](const HandwritingSpec& spec, const std::string& message) {
    const auto result = DrawHandwriting(spec);
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(base::Message(result.status()), HasSubstr(message));
  };
  expect_error({.writers = 0}, "0 writers");
  expect_error({.min_samples = 5, .max_samples = 4}, "5 to 4 samples");
  expect_error({.min_samples = 0}, "0 to 100 samples");
  expect_error({.classes = 21}, "21 classes; it must be 2 to 20");
  expect_error({.classes = 1}, "1 classes");
}

}  // namespace
}  // namespace tacet::data
