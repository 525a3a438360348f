#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/he/compact.h"
#include "tacet/he/payload_shape.h"
#include "tacet/he/sum_kernels.h"
#include "tacet/he/truncated_planes.h"

namespace tacet::he {
namespace {

class CompactAdder final : public Adder {
 public:
  CompactAdder(const AggregationParams& params, size_t tasks, base::ParallelFor run)
      : Adder(params),
        tasks_(std::clamp<uint64_t>(tasks, 1, params.polynomials())),
        run_(std::move(run)),
        shares_(params.sharing()) {
    payload_.reserve(params.polynomials() + 1);
    for (uint64_t j = 0; j < params.polynomials(); ++j) {
      payload_.emplace_back(UsedCoefficients(params, j));
    }
    payload_.emplace_back(kTagWords);
  }

  void AddEach(std::span<const Contribution> contributions,
               std::span<absl::Status> results) override {
    // As many at a time as there is room for if all of them are right.
    while (!contributions.empty()) {
      const size_t taken =
          std::min<size_t>(contributions.size(), params().max_participants() - count_);
      if (taken == 0) break;
      AddSome(contributions.first(taken), results.first(taken));
      contributions = contributions.subspan(taken);
      results = results.subspan(taken);
    }
    for (size_t i = 0; i < contributions.size(); ++i) {
      results[i] = CheckCiphertextLength(params(), contributions[i].ciphertext.size());
      if (results[i].ok()) results[i] = CheckRoomInSum(params(), uint64_t{count_} + 1);
    }
  }

  absl::Status Merge(const Adder& other) override {
    const auto* that = dynamic_cast<const CompactAdder*>(&other);
    TACET_RETURN_IF_ERROR(CheckMerge(params(), that == nullptr ? nullptr : &that->params()));
    TACET_RETURN_IF_ERROR(CheckRoomInSum(params(), uint64_t{count_} + that->count_));
    for (uint64_t j = 0; j < payload_.size(); ++j) payload_[j].Merge(that->payload_[j]);
    shares_.Merge(that->shares_);
    count_ += that->count_;
    return absl::OkStatus();
  }

  uint32_t count() const override { return count_; }

  void CloseInto(std::span<uint8_t> sum) const override {
    for (const PlaneSums& polynomial : payload_) {
      polynomial.WriteResidues(sum.first(16 * polynomial.count()));
      sum = sum.subspan(16 * polynomial.count());
    }
    shares_.Write(sum);
  }

 private:
  // The faults that were noticed of a ciphertext while polynomials of it were added.
  struct Noticed {
    struct Place {
      uint64_t polynomial;
      size_t coefficient;
    };
    WordSums words;
    std::optional<Place> not_canonical;
  };

  // Adds first, checks on the way, and takes back what was found wrong: each word is fetched from
  // memory once. A polynomial of the sum stays in the cache while those of all ciphertexts go by.
  void AddSome(std::span<const Contribution> contributions, std::span<absl::Status> results) {
    std::vector<size_t> sized;
    for (size_t i = 0; i < contributions.size(); ++i) {
      results[i] = CheckCiphertextLength(params(), contributions[i].ciphertext.size());
      if (results[i].ok()) sized.push_back(i);
    }
    std::vector<Noticed> noticed(tasks_ * sized.size());
    run_(tasks_, [&](size_t task) {
      const auto of_task = std::span(noticed).subspan(task * sized.size(), sized.size());
      for (uint64_t j = FirstOf(task); j < FirstOf(task + 1); ++j) {
        for (size_t first = 0; first < sized.size(); first += kAddedAtOnce) {
          const size_t count = std::min(kAddedAtOnce, sized.size() - first);
          AddPolynomial(j, contributions, std::span(sized).subspan(first, count),
                        of_task.subspan(first, count));
        }
      }
    });
    for (size_t k = 0; k < sized.size(); ++k) {
      const Contribution& contribution = contributions[sized[k]];
      Noticed whole;
      for (size_t task = 0; task < tasks_; ++task) {
        const Noticed& part = noticed[task * sized.size() + k];
        whole.words = Concatenate(whole.words, part.words, WordsOf(task));
        if (!whole.not_canonical.has_value()) whole.not_canonical = part.not_canonical;
      }
      const auto shares = contribution.ciphertext.last(params().share_bytes());
      results[sized[k]] = Judge(contribution, whole, shares);
      if (results[sized[k]].ok()) {
        shares_.Add(shares);
        ++count_;
      } else {
        for (uint64_t j = 0; j < payload_.size(); ++j) {
          payload_[j].Subtract(PlanesOf(contribution, j));
        }
      }
    }
  }

  void AddPolynomial(uint64_t j, std::span<const Contribution> contributions,
                     std::span<const size_t> which, std::span<Noticed> noticed) {
    std::array<const uint8_t*, kAddedAtOnce> planes;
    std::array<WordSums, kAddedAtOnce> words;
    for (size_t u = 0; u < which.size(); ++u) planes[u] = PlanesOf(contributions[which[u]], j);
    payload_[j].Add(std::span(planes).first(which.size()), words);
    for (size_t u = 0; u < which.size(); ++u) {
      noticed[u].words = Concatenate(noticed[u].words, words[u], 3 * payload_[j].count());
      if (noticed[u].not_canonical.has_value()) continue;
      const auto bad = FindNonCanonical({planes[u], kPlaneBytes * payload_[j].count()});
      if (bad.has_value()) noticed[u].not_canonical = {.polynomial = j, .coefficient = *bad};
    }
  }

  absl::Status Judge(const Contribution& contribution, const Noticed& payload,
                     std::span<const uint8_t> shares) const {
    if (contribution.announced.has_value()) {
      TACET_RETURN_IF_ERROR(CheckAnnounced(
          contribution, Concatenate(payload.words, SumWords(shares), shares.size() / 4)));
    }
    if (payload.not_canonical.has_value()) {
      return base::DataLoss(
          "ciphertext: field `payload` is not canonical: coefficient {} of polynomial {} is not "
          "below Q / 2^{}",
          payload.not_canonical->coefficient, payload.not_canonical->polynomial, kDropBits);
    }
    if (const auto bad = KeySharing::FindNonCanonical(shares); bad.has_value()) {
      return base::DataLoss("ciphertext: field `shares` is not canonical: word {} is not below {}",
                            *bad, kSharePrime);
    }
    return absl::OkStatus();
  }

  const uint8_t* PlanesOf(const Contribution& contribution, uint64_t j) const {
    const uint64_t before = std::min(params().ring_degree() * j, params().used_coefficients());
    return contribution.ciphertext.data() + kPlaneBytes * before;
  }

  // Task t has the polynomials from FirstOf(t) to before FirstOf(t + 1).
  uint64_t FirstOf(size_t task) const { return payload_.size() * task / tasks_; }
  uint64_t WordsOf(size_t task) const {
    uint64_t words = 0;
    for (uint64_t j = FirstOf(task); j < FirstOf(task + 1); ++j) words += 3 * payload_[j].count();
    return words;
  }

  size_t tasks_;
  base::ParallelFor run_;
  std::vector<PlaneSums> payload_;  // the MAC's polynomial last
  ShareSums shares_;
  uint32_t count_ = 0;
};

}  // namespace

std::unique_ptr<Adder> MakeCompactAdder(const AggregationParams& params, size_t tasks,
                                        base::ParallelFor run) {
  return std::make_unique<CompactAdder>(params, tasks, std::move(run));
}

}  // namespace tacet::he
