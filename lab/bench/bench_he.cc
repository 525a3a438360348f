#include "lab/bench/bench_he.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include <malloc.h>
#include <sys/resource.h>

#include "lab/bench/bench_dp.h"
#include "lab/bench/bench_timing.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/ring/slots.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/pair_masks.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/terms.h"
#include "tacet/secagg/upload.h"

namespace tacet::app::bench {
namespace {

// Uploads that a server finds waiting whenever it adds.
constexpr uint32_t kWaiting = 32;

// The counts of all participants, made again whenever they are asked for: each has its share of a
// sum drawn from [-B, B], plus a little noise of its own that the last participant takes back.
class Counts {
 public:
  Counts(const secagg::Terms& terms, uint32_t participants, crypto::Entropy& entropy)
      : key_(entropy.Draw(32)),
        dimension_(terms.dimension()),
        participants_(participants),
        offset_(static_cast<int64_t>(terms.aggregation().offset())),
        bound_(terms.aggregation().sum_bound()) {}

  // For participant k, from value `first` on; a block of values always begins at the same place.
  void Fill(uint32_t k, uint64_t first, std::span<uint32_t> counts) {
    const std::span<const int64_t> targets = Targets(first, counts.size());
    if (k + 1 < participants_) {
      const std::span<const uint8_t> jitter = Jitter(k, first, counts.size());
      for (size_t i = 0; i < counts.size(); ++i) counts[i] = CountOf(Share(targets[i], jitter[i]));
      return;
    }
    std::vector<int64_t> left(targets.begin(), targets.end());
    for (uint32_t other = 0; other + 1 < participants_; ++other) {
      const std::span<const uint8_t> jitter = Jitter(other, first, counts.size());
      for (size_t i = 0; i < left.size(); ++i) left[i] -= Share(targets[i], jitter[i]);
    }
    for (size_t i = 0; i < left.size(); ++i) counts[i] = CountOf(left[i]);
  }

  // The number of `sums`, from value `first` on, that are not those of all counts.
  uint64_t Wrong(uint64_t first, std::span<const uint64_t> sums) {
    const std::span<const int64_t> targets = Targets(first, sums.size());
    uint64_t wrong = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      wrong += sums[i] != static_cast<uint64_t>(offset_ * participants_ + targets[i]) ? 1 : 0;
    }
    return wrong;
  }

 private:
  crypto::Random StreamOf(std::string_view use, uint64_t number, uint64_t first) const {
    const std::string info = fmt::format("{}/{}/{}", use, number, first);
    return crypto::Random(crypto::HkdfSha256(key_.Expose(), base::AsBytes(info), 32));
  }

  std::span<const int64_t> Targets(uint64_t first, size_t size) {
    words_.resize(size);
    targets_.resize(size);
    StreamOf("targets", 0, first).FillU64(words_);
    const auto range = static_cast<unsigned __int128>(2 * bound_ + 1);
    for (size_t i = 0; i < size; ++i) {
      targets_[i] = static_cast<int64_t>((words_[i] * range) >> 64) - static_cast<int64_t>(bound_);
    }
    // The edges themselves.
    if (first == 0) targets_.front() = static_cast<int64_t>(bound_);
    if (first + size == dimension_) targets_.back() = -static_cast<int64_t>(bound_);
    return targets_;
  }

  std::span<const uint8_t> Jitter(uint32_t k, uint64_t first, size_t size) {
    jitter_.resize(size);
    StreamOf("jitter", k, first).Fill(jitter_);
    return jitter_;
  }

  int64_t Share(int64_t target, uint8_t jitter) const {
    return target / participants_ + jitter % 64 - 32;
  }
  uint32_t CountOf(int64_t value) const { return static_cast<uint32_t>(offset_ + value); }

  crypto::SecretBytes key_;
  uint64_t dimension_;
  int64_t participants_;
  int64_t offset_;
  uint64_t bound_;
  std::vector<uint64_t> words_;
  std::vector<int64_t> targets_;
  base::Bytes jitter_;
};

uint64_t PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// Modular products of one transform and of the products around it, at three multiply-adds each.
double TransformFmas(double degree) { return 3 * (degree / 2 * std::log2(degree) + degree); }

void SetDemands(const he::AggregationParams& params, he::Scheme scheme, BenchHeResult& result) {
  const auto d = static_cast<double>(params.dimension());
  const auto n = static_cast<double>(params.ring_degree());
  const auto polynomials = static_cast<double>(params.polynomials());
  const auto coefficients = static_cast<double>(params.used_coefficients());
  if (scheme == he::Scheme::kCompact) {
    // Two transforms a polynomial and two of the key; a word an error and a coefficient of the key,
    // two bytes a word of a mask.
    const he::KeySharing& sharing = params.sharing();
    const auto mask_words = static_cast<double>(params.mask_words());
    result.encode_encrypt = {
        .memory_bytes = 4 * d,
        .aes_bytes = 8 * coefficients + 8 * n + 2 * mask_words,
        .fmas = (2 * polynomials + 2) * TransformFmas(n) +
                static_cast<double>(sharing.shared_seats() * sharing.threshold() *
                                    sharing.mask_words())};
    // Two transforms a polynomial and two of the sum of the keys.
    result.decrypt = {.memory_bytes = 16 * coefficients + 8 * d,
                      .aes_bytes = 0,
                      .fmas = (2 * polynomials + 2) * TransformFmas(n) + 12 * d};
  } else {
    const double transforms = scheme == he::Scheme::kPaperPublicKey ? 2 : 1;
    result.encode_encrypt = {
        .memory_bytes = 4 * d,
        .aes_bytes = 8 * n * polynomials * (scheme == he::Scheme::kPaperPublicKey ? 3 : 2),
        .fmas = (transforms + (scheme == he::Scheme::kPaperPublicKey ? 1 : 0)) * polynomials *
                TransformFmas(n)};
    result.decrypt = {.memory_bytes = 16 * n * polynomials + 8 * d,
                      .aes_bytes = 0,
                      .fmas = polynomials * TransformFmas(n) + 12 * d};
  }
  // Clipping and tagging, without the draws.
  const Demand mechanism = d * (kGaussianDemand + kPoissonDemand +
                                Demand{.memory_bytes = 4, .aes_bytes = 0, .fmas = 13});
  result.seal = mechanism + result.encode_encrypt;
  result.aggregate = {
      .memory_bytes = static_cast<double>(result.upload_bytes) * params.max_participants(),
      .aes_bytes = 0,
      .fmas = 0};
}

// The parties of one attempt, and what is measured of them, step by step.
class HeBench {
 public:
  HeBench(const BenchHeSpec& spec, const secagg::Terms& terms)
      : spec_(spec),
        terms_(terms),
        block_(std::min(params().values_per_polynomial(), spec.dimension)),
        counts_(terms, spec.participants, entropy_) {
    result_.streamed = secagg::UploadBytes(terms.aggregation()) > kLargestHeld;
  }

  absl::StatusOr<BenchHeResult> Run() {
    TACET_RETURN_IF_ERROR(SetUp());
    result_.upload_bytes = secagg::UploadBytes(params());
    result_.sum_bytes = secagg::ClosedRoundBytes(params(), spec_.participants);
    MakeUpdate();  // held to the end, as a participant would
    TACET_RETURN_IF_ERROR(Encrypt());
    TACET_RETURN_IF_ERROR(Seal());
    TACET_RETURN_IF_ERROR(result_.streamed ? AddOneByOne() : AddWaiting());
    malloc_trim(0);
    TACET_RETURN_IF_ERROR(Open());
    const uint64_t peak = PeakResidentBytes();
    const auto beyond = [peak](uint64_t inputs) { return peak > inputs ? peak - inputs : 0; };
    const uint64_t update_bytes = spec_.dimension * sizeof(float);
    const uint64_t held_bytes = result_.streamed ? 0 : result_.upload_bytes * spec_.participants;
    result_.peak_rss_bytes = beyond(update_bytes + held_bytes);
    result_.peak_beyond_update_bytes = beyond(update_bytes);
    SetDemands(params(), spec_.scheme, result_);
    return result_;
  }

 private:
  // Uploads up to this size are all made first and held, longer ones added as soon as they are
  // made.
  static constexpr size_t kLargestHeld = size_t{1} << 27;

  const he::AggregationParams& params() const { return terms_.aggregation(); }

  absl::Status SetUp() {
    absl::Status failure;
    result_.setup_s = MedianSeconds(spec_.repetitions, [&] {
      absl::StatusOr<std::unique_ptr<secagg::Sealer>> made =
          secagg::Sealer::Create(terms_, attempt_, Keys());
      failure.Update(made.status());
      if (made.ok()) sealer_ = *std::move(made);
    });
    return failure;
  }

  secagg::AttemptKeys Keys() const {
    return secagg::DeriveAttemptKeys(epoch_key_, spec_.scheme, attempt_);
  }

  void MakeUpdate() {
    crypto::Random random = crypto::Random::FromEntropy(entropy_);
    update_.resize(spec_.dimension);
    for (float& value : update_) {
      value = static_cast<float>(static_cast<double>(random.NextU64()) * 0x1p-64 - 0.5);
    }
  }

  // Calls function(first, size) for every block.
  template <typename Function>
  void ForEachBlock(const Function& function) const {
    for (uint64_t first = 0; first < spec_.dimension; first += block_) {
      function(first, std::min(block_, spec_.dimension - first));
    }
  }

  absl::Status Encrypt() {
    TACET_ASSIGN_OR_RETURN(
        const auto encryptor,
        IsCompact()
            ? he::NewCompactEncryptor(params(), secagg::PublicSeed(attempt_))
            : he::NewPaperEncryptor(params(), secagg::PublicSeed(attempt_), Keys().group_secret));
    // For a streamed model one block stands for all.
    std::vector<uint32_t> counts(result_.streamed ? block_ : spec_.dimension);
    if (result_.streamed) counts_.Fill(0, 0, counts);
    const auto part = [&](uint64_t first, uint64_t size) {
      return std::span(counts).subspan(result_.streamed ? 0 : first, size);
    };
    if (!result_.streamed) {
      ForEachBlock(
          [&](uint64_t first, uint64_t size) { counts_.Fill(0, first, part(first, size)); });
    }
    ring::Int128 sink = 0;
    result_.encode_s = MedianSeconds(spec_.repetitions, [&] {
      ForEachBlock([&](uint64_t first, uint64_t size) {
        const std::span<const uint32_t> block = part(first, size);
        for (size_t i = 0; i < size; i += params().slots()) {
          sink += ring::PackSlots(block.subspan(i, std::min<size_t>(params().slots(), size - i)),
                                  params().plaintext_bits());
        }
      });
    });
    asm volatile("" : : "m"(sink));  // the encoding must not be optimised away
    absl::Status failure;
    base::Bytes ciphertext(params().ciphertext_bytes());
    result_.encode_encrypt_s = MedianSeconds(spec_.repetitions, [&] {
      const crypto::SecretBytes key = entropy_.Draw(32);
      const crypto::SecretVector<uint16_t> masks = Masks({});
      const auto encryption = encryptor->Begin({.key = key, .masks = masks.Expose()}, ciphertext);
      failure.Update(encryption.status());
      if (!encryption.ok()) return;
      ForEachBlock(
          [&](uint64_t first, uint64_t size) { (*encryption)->Append(part(first, size)); });
      (*encryption)->Finish({});
    });
    result_.encrypt_s = std::max(0.0, result_.encode_encrypt_s - result_.encode_s);
    return failure;
  }

  absl::Status Seal() {
    absl::Status failure;
    result_.seal_s = MedianSeconds(spec_.repetitions, [&] {
      failure.Update(sealer_->Seal(update_, pair_keys_, entropy_).status());
    });
    return failure;
  }

  absl::StatusOr<base::Bytes> UploadOf(uint32_t k) {
    std::vector<uint32_t> block(block_);
    return sealer_->SealBlocks(
        [&](uint64_t first, uint64_t size) {
          counts_.Fill(k, first, std::span(block).first(size));
          return std::span<const uint32_t>(block).first(size);
        },
        pair_keys_, entropy_.Draw(32));
  }

  secagg::Aggregator NewAggregator(size_t threads) const {
    return {params(), attempt_, spec_.participants, threads, base::RunOnThreads};
  }

  absl::Status Close(secagg::Aggregator& aggregator) {
    TACET_ASSIGN_OR_RETURN(secagg::Aggregator::Closed closed,
                           aggregator.Close(entropy_, [](uint64_t) { return crypto::Digest{}; }));
    closed_ = std::move(closed.closed_round);
    return absl::OkStatus();
  }

  absl::Status AddWaiting() {
    std::vector<base::Bytes> uploads;
    for (uint32_t k = 0; k < spec_.participants; ++k) {
      TACET_ASSIGN_OR_RETURN(base::Bytes upload, UploadOf(k));
      uploads.push_back(std::move(upload));
    }
    absl::Status failure;
    const auto aggregate = [&](size_t threads) {
      secagg::Aggregator aggregator = NewAggregator(threads);
      for (uint32_t first = 0; first < spec_.participants; first += kWaiting) {
        std::vector<secagg::Submission> waiting;
        for (uint32_t k = first; k < std::min(first + kWaiting, spec_.participants); ++k) {
          waiting.push_back({.participant = k, .upload = uploads[k]});
        }
        for (const absl::Status& status : aggregator.SubmitEach(waiting)) failure.Update(status);
      }
      failure.Update(Close(aggregator));
    };
    const uint32_t fewer = std::min<uint32_t>(spec_.repetitions, 5);
    result_.aggregate_s = MedianSeconds(fewer, [&] { aggregate(1); });
    result_.aggregate_two_cores_s = MedianSeconds(fewer, [&] { aggregate(2); });
    return failure;
  }

  absl::Status AddOneByOne() {
    for (const size_t threads : {1, 2}) {
      closed_ = base::Bytes();  // gives its memory back
      double seconds = 0;
      secagg::Aggregator aggregator = NewAggregator(threads);
      for (uint32_t k = 0; k < spec_.participants; ++k) {
        TACET_ASSIGN_OR_RETURN(const base::Bytes upload, UploadOf(k));
        const base::Stopwatch watch;
        TACET_RETURN_IF_ERROR(aggregator.Submit(k, upload));
        seconds += watch.Seconds();
      }
      const base::Stopwatch watch;
      TACET_RETURN_IF_ERROR(Close(aggregator));
      seconds += watch.Seconds();
      (threads == 1 ? result_.aggregate_s : result_.aggregate_two_cores_s) = seconds;
    }
    return absl::OkStatus();
  }

  absl::Status Open() {
    TACET_ASSIGN_OR_RETURN(
        const secagg::ClosedRound round,
        secagg::ReadClosedRound(closed_, attempt_, params(), terms_.min_participants()));
    closed_ = base::Bytes();  // gives its memory back
    const secagg::AttemptKeys keys = Keys();
    TACET_ASSIGN_OR_RETURN(const auto decryptor, DecryptorOf(round, keys));
    const he::HomomorphicMacKey tag_key(keys.tag_key, spec_.dimension,
                                        secagg::TagContext(attempt_));
    std::vector<uint64_t> sums(block_);
    // Decrypts block by block and hands each to `use`.
    const auto decrypt = [&](const auto& use) -> absl::StatusOr<he::Tag> {
      TACET_ASSIGN_OR_RETURN(const auto decryption,
                             decryptor->Begin(round.aggregated_ciphertext, spec_.participants));
      absl::Status failure;
      ForEachBlock([&](uint64_t first, uint64_t size) {
        const std::span<uint64_t> block = std::span(sums).first(size);
        failure.Update(decryption->Next(block));
        use(first, block);
      });
      TACET_RETURN_IF_ERROR(failure);
      return decryption->Finish();
    };
    absl::Status failure;
    result_.decrypt_s = MedianSeconds(spec_.repetitions, [&] {
      he::Tag expected = tag_key.SumOfMasks(round.nonces);
      const auto tag = decrypt([&](uint64_t first, std::span<const uint64_t> block) {
        tag_key.AccumulateSum(first, block, params().LargestSum(spec_.participants), expected);
      });
      failure.Update(tag.status());
      if (tag.ok() && !he::TagsEqual(expected, *tag)) {
        failure.Update(base::DataLoss("the MAC does not fit"));
      }
    });
    TACET_RETURN_IF_ERROR(failure);
    return decrypt([&](uint64_t first, std::span<const uint64_t> block) {
             result_.wrong_values += counts_.Wrong(first, block);
           })
        .status();
  }

  bool IsCompact() const { return spec_.scheme == he::Scheme::kCompact; }

  crypto::SecretBytes DrawPairKeys() {
    return entropy_.Draw(IsCompact() ? secagg::kPairKeyBytes * spec_.committee.seats : 0);
  }
  std::span<const uint8_t> PairKey(uint32_t seat) const {
    return pair_keys_.Expose().subspan(secagg::kPairKeyBytes * seat, secagg::kPairKeyBytes);
  }
  // For one client with all seats.
  crypto::SecretVector<uint16_t> Masks(const secagg::SealNonce& nonce) const {
    crypto::SecretVector<uint16_t> masks(params().mask_words());
    if (!IsCompact()) return masks;
    const size_t words = params().sharing().mask_words();
    for (uint32_t seat = 0; seat < spec_.committee.seats; ++seat) {
      secagg::ExpandMask(PairKey(seat), attempt_, nonce,
                         masks.Expose().subspan(seat * words, words));
    }
    return masks;
  }

  // Measures sharing and unmasking on the way. All uploads here are one client's.
  absl::StatusOr<std::unique_ptr<he::Decryptor>> DecryptorOf(const secagg::ClosedRound& round,
                                                             const secagg::AttemptKeys& keys) {
    if (!IsCompact()) return he::NewPaperDecryptor(params(), keys.group_secret);
    const he::KeySharing& sharing = params().sharing();
    const std::vector<int8_t> key(params().ring_degree(), 3);
    const std::vector<uint16_t> checks(sharing.check_secrets(), 5);
    base::Bytes shares(sharing.share_bytes());
    result_.share_s = MedianSeconds(spec_.repetitions, [&] {
      sharing.Share(key, checks, Masks(round.nonces.front()).Expose(), shares);
    });
    std::vector<crypto::SecretVector<uint16_t>> sums;
    for (uint32_t seat = 0; seat < spec_.committee.seats; ++seat) {
      const auto unmask = [&] {
        secagg::MaskAccumulator masks(attempt_, sharing.mask_words());
        for (const secagg::SealNonce& nonce : round.nonces) masks.Add(PairKey(seat), nonce);
        return masks.Finish();
      };
      if (seat == 0) result_.unmask_s = MedianSeconds(spec_.repetitions, [&] { unmask(); });
      sums.push_back(unmask());
    }
    std::vector<he::KeySharing::Answer> answers;
    for (uint32_t seat = 0; seat < spec_.committee.seats; ++seat) {
      answers.push_back({.seat = seat, .mask_sums = sums[seat].Expose()});
    }
    const auto closed_shares = std::span(round.aggregated_ciphertext).last(sharing.share_bytes());
    absl::Status failure;
    result_.recover_s = MedianSeconds(spec_.repetitions, [&] {
      failure.Update(sharing.Recover(closed_shares, answers).status());
    });
    TACET_RETURN_IF_ERROR(failure);
    TACET_ASSIGN_OR_RETURN(auto recovery, sharing.Recover(closed_shares, answers));
    return he::NewCompactDecryptor(params(), secagg::PublicSeed(attempt_),
                                   std::move(recovery.key_sum));
  }

  BenchHeSpec spec_;
  const secagg::Terms& terms_;
  uint64_t block_;  // values of a payload polynomial
  crypto::SystemEntropy entropy_;
  crypto::SecretBytes epoch_key_ = entropy_.Draw(32);
  crypto::SecretBytes pair_keys_ = DrawPairKeys();
  secagg::Attempt attempt_;
  Counts counts_;
  std::unique_ptr<secagg::Sealer> sealer_;
  std::vector<float> update_;
  base::Bytes closed_;
  BenchHeResult result_;
};

}  // namespace

absl::StatusOr<secagg::Terms> ChooseTerms(const BenchHeSpec& spec) {
  secagg::TermsSpec terms{.mechanism = {},
                          .scheme = spec.scheme,
                          .plaintext_bits = spec.plaintext_bits,
                          .committee = spec.committee};
  dp::MechanismSpec& mechanism = terms.mechanism;
  mechanism.dimension = spec.dimension;
  mechanism.params.clip_norm = 1;
  mechanism.params.coordinate_bound = 0.1;
  mechanism.params.noise_stddev = 6 * std::sqrt(spec.participants / 1000.0);
  mechanism.cohort = spec.participants;
  mechanism.min_participants = spec.participants;
  mechanism.attempts = 100;
  mechanism.without_guarantee = true;
  const double target = std::ldexp(0.95, static_cast<int>(spec.plaintext_bits) - 1);
  mechanism.params.scale = 1e-4;
  for (int step = 0; step < 4; ++step) {  // B is nearly proportional to 1 / scale
    TACET_ASSIGN_OR_RETURN(const dp::MechanismPlan plan, dp::MechanismPlan::Create(mechanism));
    mechanism.params.scale *= static_cast<double>(plan.sum_bound()) / target;
  }
  return secagg::Terms::Create(terms);
}

absl::StatusOr<BenchHeResult> BenchHe(const BenchHeSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckRepetitions(spec.repetitions));
  TACET_ASSIGN_OR_RETURN(const secagg::Terms terms, ChooseTerms(spec));
  return HeBench(spec, terms).Run();
}

}  // namespace tacet::app::bench
