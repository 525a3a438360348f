#include "tacet/data/handwriting.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/data/glyphs.h"
#include "tacet/data/wobble.h"

// Everything here is addition, multiplication, division and square root of doubles, which IEEE 754
// fixes to the bit; so the same spec gives the same pictures everywhere.
namespace tacet::data {
namespace {

constexpr int kSide = 28;
constexpr double kInkHeight = 19;  // pixels, of a character of scale 1
constexpr double kMargin = 1;      // pixels at the border that stay free
constexpr int kPiecesPerCurve = 8;

double Between(crypto::Random& random, double low, double high) {
  return low + (high - low) * crypto::Uniform(random);
}

// A smooth, slow displacement along one axis: a cubic in the position along the other.
struct Bend {
  double linear = 0, square = 0, cube = 0;
  double At(double t) const { return t * (linear + t * (square + t * cube)); }
};

Bend DrawBend(crypto::Random& random, double size) {
  return {size * Wobble(random), size * Wobble(random), size * Wobble(random)};
}

// Style of one writer. Lengths in hundredths of the glyph box unless said otherwise.
struct Style {
  double slant = 0;     // shift to the right per height
  double width = 1;     // of a character, against its height
  double scale = 1;     // of all characters
  double pen = 1;       // half width of a stroke, pixels
  double softness = 1;  // width of the grey edge, pixels
  double ink = 255;     // grey of a full stroke
  double pressure = 0;  // share by which the stroke thins towards its end
  int rounding = 0;     // how often corners are smoothed
  double jitter = 0;    // of every point, from sample to sample
  double overshoot = 0;
  Bend bend_x, bend_y;
  // By class: the form this writer uses and how the points are moved.
  std::vector<size_t> form;
  std::vector<std::vector<GlyphStroke>> shift;
};

Style DrawStyle(crypto::Random& random, uint32_t classes) {
  Style style;
  style.slant = 0.10 + 0.20 * Wobble(random);
  style.width = 0.72 + 0.09 * Wobble(random);
  style.scale = 0.96 + 0.09 * Wobble(random);
  style.pen = Between(random, 0.85, 1.6);
  style.softness = Between(random, 0.9, 1.8);
  style.ink = Between(random, 215, 255);
  style.pressure = Between(random, 0.0, 0.45);
  style.rounding = static_cast<int>(random.Below(5));
  style.jitter = Between(random, 1.5, 4.0);
  style.overshoot = std::max(0.0, 3 * Wobble(random));
  style.bend_x = DrawBend(random, 3.0);
  style.bend_y = DrawBend(random, 2.0);
  for (uint32_t c = 0; c < classes; ++c) {
    const std::vector<Glyph>& forms = GlyphForms(c);
    style.form.push_back(random.Below(forms.size()));
    std::vector<GlyphStroke> shift;
    for (const GlyphStroke& stroke : forms[style.form.back()]) {
      GlyphStroke moved;
      for (size_t i = 0; i < stroke.size(); ++i) {
        moved.push_back({4.2 * Wobble(random), 4.2 * Wobble(random)});
      }
      shift.push_back(std::move(moved));
    }
    style.shift.push_back(std::move(shift));
  }
  return style;
}

double Distance(GlyphPoint a, GlyphPoint b) {
  return std::sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y));
}

// Continues a stroke beyond its ends by `length`.
void Overshoot(GlyphStroke& stroke, double length) {
  const auto extend = [length](GlyphPoint& end, GlyphPoint before) {
    const double distance = Distance(end, before);
    if (distance < 1) return;
    end.x += (end.x - before.x) / distance * length;
    end.y += (end.y - before.y) / distance * length;
  };
  extend(stroke.front(), stroke[1]);
  extend(stroke.back(), stroke[stroke.size() - 2]);
}

// A Catmull-Rom curve through the points, as short straight pieces.
GlyphStroke Smooth(const GlyphStroke& points) {
  GlyphStroke curve;
  const auto at = [&points](size_t i) { return points[std::min(i, points.size() - 1)]; };
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const GlyphPoint p0 = i == 0 ? points[0] : points[i - 1];
    const GlyphPoint p1 = points[i], p2 = points[i + 1], p3 = at(i + 2);
    const auto blend = [](double a, double b, double c, double d, double t) {
      return 0.5 *
             (2 * b + t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * b - a - 3 * c + d))));
    };
    for (int piece = 0; piece < kPiecesPerCurve; ++piece) {
      const double t = static_cast<double>(piece) / kPiecesPerCurve;
      curve.push_back({blend(p0.x, p1.x, p2.x, p3.x, t), blend(p0.y, p1.y, p2.y, p3.y, t)});
    }
  }
  curve.push_back(points.back());
  return curve;
}

// Moves every inner point half way to the middle of its neighbours.
void RoundCorners(GlyphStroke& curve) {
  GlyphPoint previous = curve.front();
  for (size_t i = 1; i + 1 < curve.size(); ++i) {
    const GlyphPoint here = curve[i];
    curve[i] = {0.5 * here.x + 0.25 * (previous.x + curve[i + 1].x),
                0.5 * here.y + 0.25 * (previous.y + curve[i + 1].y)};
    previous = here;
  }
}

// Shrinks and moves a character along each axis so that it keeps `margin` pixels from the border.
void KeepInside(std::vector<GlyphStroke>& curves, double margin) {
  for (double GlyphPoint::*axis : {&GlyphPoint::x, &GlyphPoint::y}) {
    double low = curves[0][0].*axis, high = low;
    for (const GlyphStroke& curve : curves) {
      for (const GlyphPoint& point : curve) {
        low = std::min(low, point.*axis);
        high = std::max(high, point.*axis);
      }
    }
    const double room = kSide - 2 * margin;
    const double shrink = high - low > room ? room / (high - low) : 1.0;
    const double start = std::clamp(low, margin, kSide - margin - shrink * (high - low));
    for (GlyphStroke& curve : curves) {
      for (GlyphPoint& point : curve) point.*axis = start + shrink * (point.*axis - low);
    }
  }
}

// Draws a straight piece with a round pen; ink[p] is how dark pixel p is, in [0, 1].
void DrawPiece(GlyphPoint from, GlyphPoint to, double pen, double softness, std::span<double> ink) {
  const double reach = pen + softness;
  const auto low = [reach](double a, double b) {
    return std::clamp(static_cast<int>(std::min(a, b) - reach), 0, kSide - 1);
  };
  const auto high = [reach](double a, double b) {
    return std::clamp(static_cast<int>(std::max(a, b) + reach) + 1, 0, kSide - 1);
  };
  const double dx = to.x - from.x, dy = to.y - from.y;
  const double length2 = dx * dx + dy * dy;
  for (int row = low(from.y, to.y); row <= high(from.y, to.y); ++row) {
    for (int column = low(from.x, to.x); column <= high(from.x, to.x); ++column) {
      const double px = column + 0.5 - from.x, py = row + 0.5 - from.y;
      const double along = length2 > 0 ? std::clamp((px * dx + py * dy) / length2, 0.0, 1.0) : 0.0;
      const double distance = Distance({px, py}, {along * dx, along * dy});
      const double dark = std::clamp(0.5 + (pen - distance) / softness, 0.0, 1.0);
      double& pixel = ink[static_cast<size_t>(row * kSide + column)];
      pixel = std::max(pixel, dark);
    }
  }
}

// Maps the glyph box to pixels for one sample.
struct Placement {
  double slant, width, scale, turn, shift_x, shift_y;
  Bend bend_x, bend_y;

  GlyphPoint operator()(GlyphPoint point) const {
    const double u = point.x / 50 - 1, v = point.y / 50 - 1;  // [-1, 1]
    const double x = u + bend_x.At(v) / 50, y = v + bend_y.At(u) / 50;
    const double half = kInkHeight * scale / 2;
    const double right = x * width - slant * y;
    return {kSide / 2.0 + half * (right - turn * y) + shift_x,
            kSide / 2.0 + half * (y + turn * right) + shift_y};
  }
};

void DrawCharacter(const Style& style, uint32_t c, crypto::Random& random,
                   std::span<uint8_t> pixels) {
  const Placement place = {.slant = style.slant + 0.05 * Wobble(random),
                           .width = style.width * (1 + 0.07 * Wobble(random)),
                           .scale = style.scale * (1 + 0.05 * Wobble(random)),
                           .turn = 0.04 * Wobble(random),
                           .shift_x = 0.6 * Wobble(random),
                           .shift_y = 0.6 * Wobble(random),
                           .bend_x = style.bend_x,
                           .bend_y = style.bend_y};
  const Bend own_x = DrawBend(random, 1.2), own_y = DrawBend(random, 1.2);
  const double pen = style.pen * (1 + 0.08 * Wobble(random));
  // Now and then a writer uses another form; the habits of points then do not apply.
  const std::vector<Glyph>& forms = GlyphForms(c);
  const bool usual = crypto::Uniform(random) < 0.9;
  const size_t form = usual ? style.form[c] : random.Below(forms.size());

  std::vector<GlyphStroke> curves;
  for (size_t s = 0; s < forms[form].size(); ++s) {
    GlyphStroke points = forms[form][s];
    GlyphPoint jitter;
    for (size_t i = 0; i < points.size(); ++i) {
      const bool corner = i > 0 && forms[form][s][i].x == forms[form][s][i - 1].x &&
                          forms[form][s][i].y == forms[form][s][i - 1].y;
      if (corner) {  // stays a corner
        points[i] = points[i - 1];
        continue;
      }
      jitter = {style.jitter * Wobble(random), style.jitter * Wobble(random)};
      const GlyphPoint habit = form == style.form[c] ? style.shift[c][s][i] : GlyphPoint{};
      points[i].x += habit.x + jitter.x + own_x.At(points[i].y / 50 - 1);
      points[i].y += habit.y + jitter.y + own_y.At(points[i].x / 50 - 1);
    }
    Overshoot(points, style.overshoot);
    GlyphStroke curve = Smooth(points);
    for (int i = 0; i < style.rounding; ++i) RoundCorners(curve);
    for (GlyphPoint& point : curve) point = place(point);
    curves.push_back(std::move(curve));
  }
  KeepInside(curves, kMargin + pen);
  std::vector<double> ink(kSide * kSide, 0.0);
  for (const GlyphStroke& curve : curves) {
    for (size_t i = 0; i + 1 < curve.size(); ++i) {
      const double progress = static_cast<double>(i) / static_cast<double>(curve.size());
      const double width = pen * (1 - style.pressure * progress * progress);
      DrawPiece(curve[i], curve[i + 1], std::max(width, 0.45), style.softness, ink);
    }
  }
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<uint8_t>(style.ink * ink[i] + 0.5);
  }
}

absl::Status CheckSpec(const HandwritingSpec& spec) {
  if (spec.writers < 1 || spec.writers > 1'000'000) {
    return base::InvalidArgument("handwriting of {} writers; it must be 1 to 1000000",
                                 spec.writers);
  }
  if (spec.min_samples < 1 || spec.min_samples > spec.max_samples || spec.max_samples > 10'000) {
    return base::InvalidArgument(
        "handwriting with {} to {} samples a writer; it must be 1 <= min <= max <= 10000",
        spec.min_samples, spec.max_samples);
  }
  if (spec.classes < 2 || spec.classes > kHandwritingGlyphs.size()) {
    return base::InvalidArgument("handwriting of {} classes; it must be 2 to {}", spec.classes,
                                 kHandwritingGlyphs.size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> DrawHandwriting(const HandwritingSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckSpec(spec));
  DatasetSpec data;
  data.name = "handwriting";
  data.input_shape = {kSide, kSide};
  data.classes = spec.classes;
  std::vector<uint8_t> pixels;
  for (uint64_t writer = 0; writer < spec.writers; ++writer) {
    crypto::Random random = crypto::SeededRandom(spec.seed, "handwriting", writer);
    const Style style = DrawStyle(random, spec.classes);
    const uint64_t samples =
        spec.min_samples + random.Below(uint64_t{spec.max_samples} - spec.min_samples + 1);
    data.client_names.push_back(fmt::format("drawn-{}", writer));
    for (uint64_t i = 0; i < samples; ++i) {
      const auto label = static_cast<uint32_t>(random.Below(spec.classes));
      const size_t offset = pixels.size();
      pixels.resize(offset + kSide * kSide);
      DrawCharacter(style, label, random, std::span(pixels).subspan(offset));
      data.labels.push_back(label);
      data.sample_clients.push_back(static_cast<uint32_t>(writer));
    }
  }
  data.features = std::move(pixels);
  return Dataset::Create(std::move(data));
}

}  // namespace tacet::data
