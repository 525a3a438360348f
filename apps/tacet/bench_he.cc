#include "apps/tacet/bench_he.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "apps/tacet/bench_dp.h"
#include "apps/tacet/bench_timing.h"
#include "tacet/base/random.h"
#include "tacet/base/status.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/he/linear_tag.h"
#include "tacet/ring/lanes.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/opened_sum.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/terms.h"

namespace tacet::app {
namespace {

// Uploads that a server finds waiting whenever it adds.
constexpr uint32_t kWaiting = 32;

// The paper's setting in proportion (noise 6 K/1000, b = 0.1), with the quantisation scale chosen
// so that sums need exactly `plaintext_bits` bits.
absl::StatusOr<secagg::Terms> ChooseTerms(const BenchHeSpec& spec) {
  secagg::TermsSpec terms{
      .mechanism = {}, .scheme = spec.scheme, .plaintext_bits = spec.plaintext_bits};
  dp::MechanismSpec& mechanism = terms.mechanism;
  mechanism.dimension = spec.dimension;
  mechanism.clip_norm = 1;
  mechanism.coordinate_bound = 0.1;
  mechanism.noise_stddev = 6 * std::sqrt(spec.participants / 1000.0);
  mechanism.cohort = spec.participants;
  mechanism.min_participants = spec.participants;
  mechanism.attempts = 100;
  mechanism.without_guarantee = true;
  const double target = std::ldexp(0.95, static_cast<int>(spec.plaintext_bits) - 1);
  mechanism.scale = 1e-4;
  for (int step = 0; step < 4; ++step) {  // B is nearly proportional to 1 / scale
    TACET_ASSIGN_OR_RETURN(const dp::MechanismPlan plan, dp::MechanismPlan::Create(mechanism));
    mechanism.scale *= static_cast<double>(plan.sum_bound()) / target;
  }
  return secagg::Terms::Create(terms);
}

// The counts of every participant in turn: each its share of a sum drawn from [-B, B], plus a
// little noise of its own that the last participant takes back.
class CountsMaker {
 public:
  CountsMaker(const secagg::Terms& terms, uint32_t participants, base::Random& random)
      : participants_(participants),
        offset_(static_cast<int64_t>(terms.aggregation().offset())),
        random_(random),
        targets_(terms.dimension()),
        spent_(terms.dimension()),
        jitter_(terms.dimension()) {
    const uint64_t bound = terms.aggregation().sum_bound();
    for (int64_t& target : targets_) {
      target = static_cast<int64_t>(random.Below(2 * bound + 1)) - static_cast<int64_t>(bound);
    }
    targets_.front() = static_cast<int64_t>(bound);  // the edges themselves
    targets_.back() = -static_cast<int64_t>(bound);
  }

  void Next(std::span<uint32_t> counts) {
    const bool last = ++made_ == participants_;
    if (!last) random_.Fill(jitter_);
    for (size_t i = 0; i < counts.size(); ++i) {
      const int64_t value =
          last ? targets_[i] - spent_[i] : targets_[i] / participants_ + jitter_[i] % 64 - 32;
      spent_[i] += value;
      counts[i] = static_cast<uint32_t>(offset_ + value);
    }
  }

  uint64_t Sum(size_t i) const {
    return static_cast<uint64_t>(offset_ * participants_ + targets_[i]);
  }

 private:
  int64_t participants_;
  int64_t offset_;
  base::Random& random_;
  std::vector<int64_t> targets_;
  std::vector<int64_t> spent_;
  base::Bytes jitter_;
  int64_t made_ = 0;
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
    // Two transforms a polynomial and four of the key and its envelope; a word an error, four words
    // a coefficient of the envelope.
    result.encode_encrypt = {.memory_bytes = 4 * d,
                             .aes_bytes = 8 * coefficients + 32 * n,
                             .fmas = (2 * polynomials + 6) * TransformFmas(n)};
    // Two transforms a polynomial and six around the envelope.
    result.decrypt = {.memory_bytes = 16 * coefficients + 8 * d,
                      .aes_bytes = 0,
                      .fmas = (2 * polynomials + 6) * TransformFmas(n) + 12 * d};
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
  // Clipping and tagging beside the draws.
  const Demand mechanism = d * (kGaussianDemand + kPoissonDemand +
                                Demand{.memory_bytes = 4, .aes_bytes = 0, .fmas = 13});
  result.seal = mechanism + result.encode_encrypt;
  result.aggregate = {
      .memory_bytes = static_cast<double>(result.upload_bytes) * params.max_participants(),
      .aes_bytes = scheme == he::Scheme::kCompact ? 16 * n * params.max_participants() : 0,
      .fmas = 0};
}

}  // namespace

absl::StatusOr<BenchHeResult> BenchHe(const BenchHeSpec& spec) {
  if (spec.repetitions < 1 || spec.repetitions > 1001) {
    return base::InvalidArgument("repetitions is {}, it must be from 1 to 1001", spec.repetitions);
  }
  TACET_ASSIGN_OR_RETURN(const secagg::Terms terms, ChooseTerms(spec));
  const he::AggregationParams& params = terms.aggregation();
  base::SystemEntropy entropy;
  const base::SecretBytes epoch_key = entropy.Draw(32);
  base::Random random = base::Random::FromEntropy(entropy);
  const secagg::Attempt attempt;
  absl::Status failure;
  const auto note = [&failure](const absl::Status& status) { failure.Update(status); };

  BenchHeResult result;
  std::unique_ptr<secagg::Sealer> sealer;
  result.setup_s = MedianSeconds(spec.repetitions, [&] {
    absl::StatusOr<std::unique_ptr<secagg::Sealer>> made = secagg::Sealer::Create(
        terms, attempt, secagg::DeriveAttemptKeys(epoch_key, spec.scheme, attempt));
    note(made.status());
    if (made.ok()) sealer = *std::move(made);
  });
  TACET_RETURN_IF_ERROR(failure);
  const secagg::AttemptKeys keys = secagg::DeriveAttemptKeys(epoch_key, spec.scheme, attempt);
  const base::Digest public_seed = secagg::PublicSeed(attempt);
  TACET_ASSIGN_OR_RETURN(const auto encryptor,
                         he::NewEncryptor(params, public_seed, keys.group_secret));
  TACET_ASSIGN_OR_RETURN(const auto decryptor,
                         he::NewDecryptor(params, public_seed, keys.group_secret));

  // Uploads.
  CountsMaker maker(terms, spec.participants, random);
  std::vector<uint32_t> counts(spec.dimension);
  std::vector<base::Bytes> uploads;
  for (uint32_t k = 0; k < spec.participants; ++k) {
    maker.Next(counts);
    TACET_ASSIGN_OR_RETURN(base::Bytes upload, sealer->SealCounts(counts, entropy.Draw(32)));
    uploads.push_back(std::move(upload));
  }
  result.upload_bytes = uploads.front().size();

  // Sealing.
  ring::Int128 sink = 0;
  result.encode_s = MedianSeconds(spec.repetitions, [&] {
    for (size_t i = 0; i < counts.size(); i += params.lanes()) {
      const size_t lanes = std::min<size_t>(params.lanes(), counts.size() - i);
      sink += ring::PackLanes(std::span<const uint32_t>(counts).subspan(i, lanes),
                              params.plaintext_bits());
    }
  });
  base::Bytes ciphertext;
  result.encode_encrypt_s = MedianSeconds(
      spec.repetitions, [&] { note(encryptor->Encrypt(counts, entropy.Draw(32), ciphertext)); });
  result.encrypt_s = std::max(0.0, result.encode_encrypt_s - result.encode_s);
  std::vector<float> update(spec.dimension);
  for (float& value : update) {
    value = static_cast<float>(static_cast<double>(random.NextU64()) * 0x1p-64 - 0.5);
  }
  result.seal_s =
      MedianSeconds(spec.repetitions, [&] { note(sealer->Seal(update, entropy).status()); });

  // Adding.
  base::Bytes closed;
  const auto aggregate = [&](size_t threads) {
    secagg::Aggregator aggregator(params, attempt, spec.participants, threads, base::RunOnThreads);
    for (uint32_t first = 0; first < spec.participants; first += kWaiting) {
      std::vector<secagg::Submission> waiting;
      for (uint32_t k = first; k < std::min(first + kWaiting, spec.participants); ++k) {
        waiting.push_back({.participant = k, .upload = uploads[k]});
      }
      for (const absl::Status& status : aggregator.SubmitEach(waiting)) note(status);
    }
    absl::StatusOr<base::Bytes> message = aggregator.Close();
    note(message.status());
    if (message.ok()) closed = *std::move(message);
  };
  const uint32_t fewer = std::min<uint32_t>(spec.repetitions, 5);
  result.aggregate_s = MedianSeconds(fewer, [&] { aggregate(1); });
  result.aggregate_two_cores_s = MedianSeconds(fewer, [&] { aggregate(2); });
  TACET_RETURN_IF_ERROR(failure);

  // Opening.
  TACET_ASSIGN_OR_RETURN(
      const secagg::ClosedRound round,
      secagg::ReadClosedRound(closed, attempt, params, terms.min_participants()));
  const he::LinearTagKey tag_key(keys.tag_key, spec.dimension, secagg::TagContext(attempt));
  secagg::OpenedSum opened{.participants = spec.participants, .sums = {}};
  result.decrypt_s = MedianSeconds(spec.repetitions, [&] {
    const absl::Status decrypted =
        decryptor->DecryptInto(round.closed_sum, spec.participants, opened.sums);
    note(decrypted);
    if (!decrypted.ok()) return;
    const he::Tag expected =
        he::AddTags(tag_key.OfSum(opened.sums), tag_key.SumOfMasks(round.nonces));
    if (!he::TagsEqual(expected, round.tag_sum)) note(base::DataLoss("the tag does not fit"));
  });
  TACET_RETURN_IF_ERROR(failure);
  for (size_t i = 0; i < opened.sums.size(); ++i) {
    result.wrong_values += opened.sums[i] != maker.Sum(i) ? 1 : 0;
  }
  result.sum_bytes =
      secagg::WriteOpenedSum(opened, attempt, params, base::Digest{}, 0, keys.result_key,
                             base::SigningKey::Generate(entropy), entropy)
          .size();
  const uint64_t inputs = result.upload_bytes * spec.participants + spec.dimension * sizeof(float);
  const uint64_t peak = PeakResidentBytes();
  result.peak_rss_bytes = peak > inputs ? peak - inputs : 0;
  SetDemands(params, spec.scheme, result);
  asm volatile("" : : "m"(sink));  // the encoding must not be optimised away
  return result;
}

}  // namespace tacet::app
