#include "tacet/dp/gaussian.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tacet/base/status.h"
#include "tacet/crypto/secret.h"
#include "tacet/dp/gaussian_forms.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {
namespace {

// Words turn into values where they lie: 16 kB at a time, half of the first-level cache or less.
constexpr size_t kBlock = 2048;

// Both forms of Box-Muller: two words a pair, 2j and 2j + 1 of a block for pair j.
void FillBoxMuller(bool wide, crypto::Random& random, std::span<double> out,
                   const Kernels& kernels) {
  const auto fill = [&](std::span<double> block) {
    random.Fill({reinterpret_cast<uint8_t*>(block.data()), block.size_bytes()});
    kernels.box_muller(wide, random, block.data(), block.size() / 2);
  };
  const size_t even = out.size() & ~size_t{1};
  for (size_t begin = 0; begin < even; begin += kBlock) {
    fill(out.subspan(begin, std::min(kBlock, even - begin)));
  }
  if (even != out.size()) {
    crypto::SecretVector<double> pair(2);
    fill(pair.Expose());
    out[even] = pair.Expose()[0];
  }
}

void FillPolar(crypto::Random& random, std::span<double> out) {
  UniformWords words(random);
  for (size_t i = 0; i < out.size(); i += 2) {
    GaussianPair pair;
    double u, v;
    do {
      u = PolarCoordinate(words.Next());
      v = PolarCoordinate(words.Next());
    } while (!Polar(u, v, pair));
    out[i] = pair.first;
    if (i + 1 < out.size()) out[i + 1] = pair.second;
  }
}

// One word a trial: 8 bits choose the region, one the sign, the other 55 the position.
double DrawZiggurat(const ZigguratTable& table, UniformWords& words) {
  for (;;) {
    const uint64_t word = words.Next();
    const size_t region = word & 0xff;
    const bool negative = (word & 0x100) != 0;
    double x = static_cast<double>(static_cast<int64_t>(word >> 9)) * 0x1p-55 * table.x[region];
    bool accepted = x < table.x[region + 1];
    if (!accepted) [[unlikely]] {
      if (region == 0) {
        while (!ZigguratTail(table.tail, FixedPointUnit(words.Next()), words.NextUnit(), x)) {
        }
        accepted = true;
      } else {
        const double low = table.y[region];
        const double y = low + words.NextUnit() * (table.y[region + 1] - low);
        accepted = -2.0 * Log(y) > x * x;
      }
    }
    if (accepted) return negative ? -x : x;
  }
}

void FillZiggurat(crypto::Random& random, std::span<double> out) {
  const ZigguratTable& table = ZigguratTable::Get();
  UniformWords words(random);
  for (double& value : out) value = DrawZiggurat(table, words);
}

using Extended = long double;

// The abscissae for a given r; returns y_255 + v/x_255 - 1, or 1 when a region already passes the
// top, both positive when r is too small.
Extended Stack(Extended tail, ZigguratTable& table) {
  constexpr size_t n = ZigguratTable::kRegions;
  Extended x = tail;
  Extended y = std::exp(-tail * tail / 2);
  const Extended area = tail * y + std::sqrt(std::numbers::pi_v<Extended> / 2) *
                                       std::erfc(tail / std::numbers::sqrt2_v<Extended>);
  table.tail = static_cast<double>(tail);
  table.x[0] = static_cast<double>(area / y);
  table.y[0] = 0;
  for (size_t i = 1; i < n; ++i) {
    table.x[i] = static_cast<double>(x);
    table.y[i] = static_cast<double>(y);
    y += area / x;
    if (i + 1 == n) break;
    if (y >= 1) return 1;
    x = std::sqrt(-2 * std::log(y));
  }
  table.x[n] = 0;
  table.y[n] = 1;
  return y - 1;
}

ZigguratTable BuildZiggurat() {
  ZigguratTable table;
  Extended low = 3.5L;
  Extended high = 3.8L;
  for (int step = 0; step < 80; ++step) {
    const Extended middle = (low + high) / 2;
    (Stack(middle, table) > 0 ? low : high) = middle;
  }
  Stack(high, table);
  return table;
}

}  // namespace

const ZigguratTable& ZigguratTable::Get() {
  static const ZigguratTable table = BuildZiggurat();
  return table;
}

std::string_view GaussianSamplerName(GaussianSampler sampler) {
  switch (sampler) {
    case GaussianSampler::kDefault:
      return "default";
    case GaussianSampler::kBoxMuller:
      return "box-muller";
    case GaussianSampler::kPolar:
      return "polar";
    case GaussianSampler::kZiggurat:
      return "ziggurat";
  }
  return "unknown";
}

absl::StatusOr<GaussianSampler> ParseGaussianSampler(std::string_view name) {
  for (const GaussianSampler sampler : {GaussianSampler::kDefault, GaussianSampler::kBoxMuller,
                                        GaussianSampler::kPolar, GaussianSampler::kZiggurat}) {
    if (name == GaussianSamplerName(sampler)) return sampler;
  }
  return base::InvalidArgument(
      "unknown Gaussian sampler \"{}\"; expected default, box-muller, polar or ziggurat", name);
}

double GaussianBound(GaussianSampler sampler) {
  constexpr double up = 1.0 + 0x1p-44;
  switch (sampler) {
    case GaussianSampler::kDefault:
      return std::sqrt(2 * 128 * std::numbers::ln2) * up;
    case GaussianSampler::kBoxMuller:
      return std::sqrt(2 * 64 * std::numbers::ln2) * up;
    case GaussianSampler::kPolar:
      return std::sqrt(2 * 127 * std::numbers::ln2) * up;
    case GaussianSampler::kZiggurat: {
      const double tail = ZigguratTable::Get().tail;
      return (tail + 64 * std::numbers::ln2 / tail) * up;
    }
  }
  return 0;
}

double GaussianCoarseTail(GaussianSampler sampler) {
  switch (sampler) {
    case GaussianSampler::kBoxMuller:
      return 0x1p-64;
    case GaussianSampler::kDefault:
    case GaussianSampler::kPolar:
      return 0x1p-120;
    case GaussianSampler::kZiggurat:
      return std::erfc(13.9 / std::numbers::sqrt2);
  }
  return 1;
}

void FillGaussian(GaussianSampler sampler, crypto::Random& random, std::span<double> out,
                  const Kernels& kernels) {
  switch (sampler) {
    case GaussianSampler::kDefault:
      return FillBoxMuller(true, random, out, kernels);
    case GaussianSampler::kBoxMuller:
      return FillBoxMuller(false, random, out, kernels);
    case GaussianSampler::kPolar:
      return FillPolar(random, out);
    case GaussianSampler::kZiggurat:
      return FillZiggurat(random, out);
  }
}

}  // namespace tacet::dp
