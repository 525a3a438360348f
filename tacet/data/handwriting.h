// Generator of synthetic handwriting, for demonstrations and tests without data.
#ifndef TACET_DATA_HANDWRITING_H_
#define TACET_DATA_HANDWRITING_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/data/dataset.h"

namespace tacet::data {

// Class c of drawn handwriting is the character kHandwritingGlyphs[c].
inline constexpr std::string_view kHandwritingGlyphs = "0123456789ABCEFHKNRT";

struct HandwritingSpec {
  uint64_t writers = 100;      // data owners, 1 to 1,000,000
  uint32_t min_samples = 60;   // each writer has min_samples to max_samples characters,
  uint32_t max_samples = 100;  // uniformly; 1 <= min <= max <= 10,000
  uint32_t classes = 20;       // the first so many of kHandwritingGlyphs, 2 to 20
  uint64_t seed = 1;
};

// 28 x 28 images, 0 = background, 255 = ink. Every character is a set of pen strokes; a writer has
// a style (slant, width, roundness, pen, habits such as a barred seven) and every sample a little
// jitter of its own. The same spec gives the same bytes on every machine. InvalidArgument names the
// field out of range.
absl::StatusOr<Dataset> DrawHandwriting(const HandwritingSpec& spec);

}  // namespace tacet::data

#endif  // TACET_DATA_HANDWRITING_H_
