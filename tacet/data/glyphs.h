// Pen strokes of synthetic handwriting, before a writer's style is applied.
#ifndef TACET_DATA_GLYPHS_H_
#define TACET_DATA_GLYPHS_H_

#include <cstdint>
#include <vector>

namespace tacet::data {

// In a box of 100 x 100, y downwards.
struct GlyphPoint {
  double x = 0;
  double y = 0;
};

// The pen passes smoothly through all points; a point given twice is a corner.
using GlyphStroke = std::vector<GlyphPoint>;
using Glyph = std::vector<GlyphStroke>;

// The ways to write class `c` of kHandwritingGlyphs, for example a seven with and without a bar.
const std::vector<Glyph>& GlyphForms(uint32_t c);

}  // namespace tacet::data

#endif  // TACET_DATA_GLYPHS_H_
