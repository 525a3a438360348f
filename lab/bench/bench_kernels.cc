#include "lab/bench/bench_kernels.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <span>

#include "lab/bench/bench_timing.h"
#include "tacet/base/bytes.h"
#include "tacet/base/cpu.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/dp/clip.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/poisson.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/he/sum_kernels.h"
#include "tacet/models/lane_kernels.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/polynomial.h"

namespace tacet::app::bench {
namespace {

constexpr size_t kN = ring::kCompactDegree;
constexpr size_t kDimension = 486654;
constexpr uint32_t kCount = 26277;  // of an update's value at the published setting

crypto::Random NewRandom() {
  crypto::SystemEntropy entropy;
  return crypto::Random::FromEntropy(entropy);
}

ring::AlignedWords Residues(size_t size, uint64_t prime) {
  crypto::Random random = NewRandom();
  ring::AlignedWords values(size);
  for (uint64_t& value : values) value = random.Below(prime);
  return values;
}

// Adds a row to `rows` with the times of every version of a kernel set.
template <typename Kernels>
class Rows {
 public:
  Rows(uint32_t repetitions, std::span<const Kernels* const> versions,
       std::vector<KernelTimes>& rows)
      : repetitions_(repetitions), versions_(versions), rows_(rows) {}

  // `prepare(version)` gives what is measured; a call of that works on `units` of `per`.
  template <typename Prepare>
  void Add(std::string_view name, std::string_view per, double units, const Prepare& prepare) {
    KernelTimes& row = rows_.emplace_back(KernelTimes{.name = name, .per = per, .seconds = {}});
    for (const Kernels* version : versions_) {
      auto work = prepare(*version);
      row.seconds.emplace_back(version->target,
                               MedianThreadSeconds(repetitions_, std::ref(work)) / units);
    }
  }

 private:
  uint32_t repetitions_;
  std::span<const Kernels* const> versions_;
  std::vector<KernelTimes>& rows_;
};

// Factors and inputs of sealing and decrypting one polynomial, four slots of 22 bits.
class Polynomial {
 public:
  explicit Polynomial(const ring::Kernels& kernels)
      : a_(Residues(2 * kN, ring::kPrime1)),
        scratch_(ring::ScratchWords(kN)),
        error_words_(kN),
        counts_(4 * kN, kCount),
        planes_(12 * kN),
        sums_(4 * kN) {
    for (size_t r = 0; r < 2; ++r) {
      factors_.emplace_back(std::span<const uint64_t>(a_).subspan(r * kN, kN),
                            ring::CompactNtt(r, kernels));
    }
    NewRandom().FillU64(error_words_);
  }

  ring::SealJob seal() {
    return {.product = product(),
            .error_words = error_words_.data(),
            .counts = counts_,
            .layout = kLayout,
            .shift = 0,
            .used = kN,
            .planes = planes_.data()};
  }
  ring::DecryptJob decrypt() {
    const auto* const residues = reinterpret_cast<const uint8_t*>(a_.data());
    return {.product = product(),
            .residues = {residues, residues + 8 * kN},
            .layout = kLayout,
            .shift = 1,
            .last_shift = 0,
            .offset = 1000 * kCount,
            .used = kN,
            .sums = sums_};
  }

 private:
  static constexpr ring::SlotLayout kLayout = {.slots = 4, .slot_bits = 22, .scale_bits = 12};

  ring::ProductModQ product() {
    return {.tables = {&factors_[0].ntt().tables(), &factors_[1].ntt().tables()},
            .a_ntt = {a_.data(), a_.data() + kN},
            .k_factors = {factors_[0].factors(), factors_[1].factors()},
            .scratch = scratch_.Expose().data()};
  }

  ring::AlignedWords a_;
  std::vector<ring::Multiplier> factors_;
  crypto::SecretVector<uint64_t> scratch_;
  ring::AlignedWords error_words_;
  std::vector<uint32_t> counts_;
  base::Bytes planes_;
  std::vector<uint64_t> sums_;
};

void AddRingRows(uint32_t repetitions, std::vector<KernelTimes>& rows) {
  using ring::Kernels;
  Rows<Kernels> add(repetitions, ring::AvailableKernels(), rows);
  ring::AlignedWords values = Residues(kN, ring::kPrime0);
  const ring::AlignedWords others = Residues(kN, ring::kPrime0);
  ring::AlignedWords product(kN);
  add.Add("forward transform, one prime", "polynomial", 1, [&](const Kernels& kernels) {
    return [&] { ring::CompactNtt(0, kernels).Forward(values); };
  });
  add.Add("product and inverse transform, one prime", "polynomial", 1, [&](const Kernels& kernels) {
    return [&, factor = ring::Multiplier(others, ring::CompactNtt(0, kernels))] {
      factor.Multiply(others, product);
    };
  });
  add.Add("seal", "polynomial", 1, [](const Kernels& kernels) {
    return
        [&kernels, polynomial = Polynomial(kernels)]() mutable { kernels.seal(polynomial.seal()); };
  });
  add.Add("open", "polynomial", 1, [](const Kernels& kernels) {
    return [&kernels, polynomial = Polynomial(kernels)]() mutable {
      kernels.decrypt(polynomial.decrypt());
    };
  });
  const auto* const bytes = reinterpret_cast<const uint8_t*>(others.data());
  bool below = true;
  add.Add("range check, one prime", "polynomial", 1, [&](const Kernels& kernels) {
    return [&] { below = below && kernels.all_below(ring::kPrime0, bytes, kN); };
  });
  ring::AlignedWords words(kN), selected(kN + 8);
  NewRandom().FillU64(words);
  add.Add("selection of uniform residues", "polynomial", 1, [&](const Kernels& kernels) {
    return [&] { kernels.select_below(ring::kPrime0, words.data(), kN, kN, selected.data()); };
  });
}

void AddSumRows(uint32_t repetitions, std::vector<KernelTimes>& rows) {
  using he::SumKernels;
  Rows<SumKernels> add(repetitions, he::AvailableSumKernels(), rows);
  constexpr size_t kWords = 3 * kN;  // of a polynomial in an upload
  std::vector<base::Bytes> sources(he::kAddedAtOnce, base::Bytes(4 * kWords));
  std::array<const uint8_t*, he::kAddedAtOnce> places;
  for (size_t u = 0; u < sources.size(); ++u) {
    NewRandom().Fill(sources[u]);
    places[u] = sources[u].data();
  }
  std::vector<uint64_t> sums(kWords);
  std::array<he::WordSums, he::kAddedAtOnce> of;
  add.Add("adding uploads, four at once", "polynomial", he::kAddedAtOnce,
          [&](const SumKernels& kernels) {
            return [&] {
              kernels.add_words(places.data(), places.size(), kWords, sums.data(), of.data());
            };
          });
  add.Add("checksum", "polynomial", 1, [&](const SumKernels& kernels) {
    return [&] { of[0] = kernels.sum_words(places[0], kWords); };
  });
  uint32_t largest = 0;
  add.Add("largest word of the high plane", "polynomial", 1, [&](const SumKernels& kernels) {
    return [&] { largest = std::max(largest, kernels.largest_word(places[0], kN)); };
  });
  std::vector<uint32_t> limbs(he::kLimbs * kN, (1u << he::kLimbBits) - 1);
  std::vector<uint32_t> counts(he::kRowsAtOnce * kN, kCount);
  std::array<const uint32_t*, he::kRowsAtOnce> of_row;
  for (size_t r = 0; r < of_row.size(); ++r) of_row[r] = counts.data() + kN * r;
  std::array<he::LimbProducts, he::kRowsAtOnce> products;
  add.Add("MAC, four rows at once", "value", static_cast<double>(counts.size()),
          [&](const SumKernels& kernels) {
            return [&] {
              kernels.limb_products(limbs.data(), kN, of_row.data(), of_row.size(), kN,
                                    products.data());
            };
          });
}

void AddMechanismRows(uint32_t repetitions, std::vector<KernelTimes>& rows) {
  using dp::Kernels;
  Rows<Kernels> add(repetitions, dp::AvailableKernels(), rows);
  constexpr size_t kBlockValues = 2048;  // fits the first-level cache
  crypto::Random random = NewRandom();
  std::vector<double> block(kBlockValues), rates(kBlockValues);
  add.Add("Gaussian, key stream included", "value", kBlockValues, [&](const Kernels& kernels) {
    return [&] { dp::FillGaussian(dp::GaussianSampler::kDefault, random, block, kernels); };
  });
  // As the mechanism makes them: with a deviation of 7 %.
  dp::FillGaussian(dp::GaussianSampler::kDefault, random, rates);
  for (double& rate : rates) rate = kCount * std::max(0.0, 1 + 0.07 * rate);
  std::vector<uint32_t> counts(kBlockValues);
  add.Add("Poisson, key stream included", "value", kBlockValues, [&](const Kernels& kernels) {
    return [&, sampler = dp::PoissonSampler(random, kernels)]() mutable {
      sampler.Fill(rates, counts);
    };
  });
  const std::vector<float> update(kBlockValues, 0.001f);
  std::vector<float> clipped(kBlockValues);
  add.Add("clip", "value", kBlockValues, [&](const Kernels& kernels) {
    return [&] { dp::ClipAndClamp(update, 0.01, 0.1, clipped, kernels); };
  });
}

void AddRecordRows(uint32_t repetitions, std::vector<KernelTimes>& rows) {
  using models::lanes::Kernels;
  Rows<Kernels> add(repetitions, models::lanes::AvailableKernels(), rows);
  constexpr size_t kOutputs = 64, kInputs = 784, kRecords = 64;
  const std::vector<float> a(kOutputs * kInputs, 0.5f), x(kInputs * kRecords, 0.25f);
  std::vector<float> y(kOutputs * kRecords);
  const models::lanes::Product product = {.a = a.data(),
                                          .a_row = kInputs,
                                          .a_inner = 1,
                                          .x = x.data(),
                                          .x_inner = kRecords,
                                          .y = y.data(),
                                          .y_row = kRecords,
                                          .rows = kOutputs,
                                          .inner = kInputs,
                                          .columns = kRecords};
  add.Add("layer of 784 inputs and 64 outputs", "record", kRecords,
          [&](const Kernels& kernels) { return [&] { kernels.multiply(product); }; });
}

void AddActiveRows(uint32_t repetitions, std::vector<KernelTimes>& rows) {
  const auto add = [&](std::string_view name, std::string_view per, base::Target target,
                       const std::function<void()>& work) {
    rows.push_back(
        {.name = name, .per = per, .seconds = {{target, MedianThreadSeconds(repetitions, work)}}});
  };
  crypto::Random random = NewRandom();
  std::vector<uint64_t> words(kN);
  constexpr base::Target kVaes = base::Target::kAvx512Vaes;
  add("key stream of the errors", "polynomial", base::MayUse(kVaes) ? kVaes : base::Target::kScalar,
      [&] { random.FillU64(words); });
  const he::HomomorphicMacKey key(crypto::SecretBytes(32), kDimension, {});
  const base::Target target = he::ActiveSumKernels().target;
  const std::vector<uint32_t> counts(kDimension, kCount);
  he::Tag tag;
  add("MAC of an update", "update", target, [&] { tag = key.Compute(counts, he::TagNonce{}); });
  const std::vector<uint64_t> sums(kDimension, 1000 * uint64_t{kCount});
  add("MAC of a sum", "update", target, [&] { tag = key.OfSum(sums); });
}

}  // namespace

absl::StatusOr<std::vector<KernelTimes>> BenchKernels(uint32_t repetitions) {
  TACET_RETURN_IF_ERROR(CheckRepetitions(repetitions));
  std::vector<KernelTimes> rows;
  AddRingRows(repetitions, rows);
  AddSumRows(repetitions, rows);
  AddMechanismRows(repetitions, rows);
  AddRecordRows(repetitions, rows);
  AddActiveRows(repetitions, rows);
  return rows;
}

}  // namespace tacet::app::bench
