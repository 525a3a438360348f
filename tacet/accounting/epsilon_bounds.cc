#include "tacet/accounting/epsilon_bounds.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "tacet/accounting/fixed_size_accountant.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/loss_rounds.h"
#include "tacet/accounting/moments_accountant.h"
#include "tacet/accounting/pld_accountant.h"
#include "tacet/accounting/rdp_accountant.h"
#include "tacet/base/mutex.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

bool SamplesFixedSize(const std::vector<RepeatedEvent>& stream) {
  return std::ranges::any_of(stream, [](const RepeatedEvent& repeated) {
    return std::ranges::any_of(repeated.round, [](const WeightedEvent& part) {
      return part.event.sampling == Sampling::kPoissonKnownSize ||
             (part.event.sampling == Sampling::kFixedSize && !IsUnsampled(part.event));
    });
  });
}

// A question to an accountant; its answer depends on nothing else.
struct Question {
  Accountant accountant = Accountant::kMoments;
  double delta = 0;
  std::vector<RepeatedEvent> stream = {};

  bool operator==(const Question&) const = default;
};

using Answer = std::optional<EpsilonBound>;

// The last answers. A charge is judged, noted, shown and audited, and each asks the same questions,
// of which one takes up to a second.
class Answers {
 public:
  std::optional<Answer> Find(const Question& question) {
    const base::MutexLock lock(mutex_);
    for (const auto& [asked, answer] : known_) {
      if (asked == question) return answer;
    }
    return std::nullopt;
  }

  void Keep(Question question, const Answer& answer) {
    const base::MutexLock lock(mutex_);
    known_.emplace_front(std::move(question), answer);
    if (known_.size() > kMost) known_.pop_back();
  }

 private:
  static constexpr size_t kMost = 256;
  base::Mutex mutex_;
  std::deque<std::pair<Question, Answer>> known_ ABSL_GUARDED_BY(mutex_);
};

Answers& KnownAnswers() {
  static Answers* const answers = new Answers;
  return *answers;
}

absl::StatusOr<Answer> Compute(Accountant accountant, const std::vector<RepeatedEvent>& stream,
                               double delta) {
  EpsilonBound bound{.accountant = accountant};
  switch (accountant) {
    case Accountant::kMoments: {
      TACET_ASSIGN_OR_RETURN(const MomentsResult result, MomentsEpsilon(stream, delta));
      bound.epsilon = result.epsilon;
      bound.order = result.order;
      if (SamplesFixedSize(stream)) {
        bound.is_proved = false;
        bound.note =
            "the paper's accountant, for comparison: not proved to be an upper bound for cohorts "
            "whose size is known";
      }
      return bound;
    }
    case Accountant::kRdp: {
      if (stream.size() > kMaxRdpRounds) return std::nullopt;
      TACET_ASSIGN_OR_RETURN(const RdpResult result, RdpEpsilon(stream, delta));
      bound.epsilon = result.epsilon;
      bound.order = result.order;
      return bound;
    }
    case Accountant::kPld: {
      if (stream.size() > kMaxPldRounds) return std::nullopt;
      TACET_ASSIGN_OR_RETURN(PldResult result, PldEpsilon(stream, delta));
      bound.epsilon = result.epsilon;
      bound.epsilon_lower = result.epsilon_lower;
      bound.attained_here = result.attained_here;
      bound.note = std::move(result.note);
      return bound;
    }
    case Accountant::kFixedSizeTight: {
      if (stream.size() > kMaxPldRounds) return std::nullopt;
      TACET_ASSIGN_OR_RETURN(const std::optional<FixedSizeResult> result,
                             FixedSizeEpsilon(stream, delta));
      if (!result) return std::nullopt;
      bound.epsilon = result->epsilon;
      bound.epsilon_lower = result->epsilon_lower;
      bound.attained_here = result->attained_here;
      return bound;
    }
    case Accountant::kFixedOrderRdp:
    case Accountant::kGaussianFilter:
    case Accountant::kBudget:
      break;
  }
  return base::InvalidArgument("a stream of events cannot be asked of accountant {}",
                               AccountantName(accountant));
}

absl::StatusOr<Answer> BoundBy(Accountant accountant, const std::vector<RepeatedEvent>& stream,
                               double delta) {
  Question question{.accountant = accountant, .delta = delta, .stream = stream};
  if (const std::optional<Answer> known = KnownAnswers().Find(question)) return *known;
  TACET_ASSIGN_OR_RETURN(Answer answer, Compute(accountant, stream, delta));
  KnownAnswers().Keep(std::move(question), answer);
  return answer;
}

}  // namespace

std::string_view AccountantName(Accountant accountant) {
  switch (accountant) {
    case Accountant::kMoments:
      return "moments";
    case Accountant::kRdp:
      return "rdp";
    case Accountant::kPld:
      return "pld";
    case Accountant::kFixedSizeTight:
      return "fixed-size-tight";
    case Accountant::kFixedOrderRdp:
      return "fixed-order-rdp";
    case Accountant::kGaussianFilter:
      return "gaussian-filter";
    case Accountant::kBudget:
      return "budget";
  }
  return "unknown";
}

const EpsilonBound* EpsilonBounds::headline() const {
  const EpsilonBound* smallest = nullptr;
  for (const EpsilonBound& row : rows) {
    if (row.is_proved && (smallest == nullptr || row.epsilon < smallest->epsilon)) smallest = &row;
  }
  return smallest;
}

double EpsilonBounds::epsilon() const {
  const EpsilonBound* const smallest = headline();
  return smallest == nullptr ? kInfinity : smallest->epsilon;
}

const EpsilonBound* EpsilonBounds::Of(Accountant accountant) const {
  const auto row = std::ranges::find(rows, accountant, &EpsilonBound::accountant);
  return row == rows.end() ? nullptr : &*row;
}

absl::StatusOr<EpsilonBounds> BoundEpsilon(const std::vector<RepeatedEvent>& stream, double delta,
                                           std::span<const Accountant> accountants, double enough) {
  TACET_RETURN_IF_ERROR(CheckStream(stream));
  TACET_RETURN_IF_ERROR(CheckDelta(delta));
  EpsilonBounds bounds;
  for (const Accountant accountant : accountants) {
    if (const EpsilonBound* known = bounds.headline(); known && known->epsilon <= enough) break;
    if (stream.empty()) {
      if (accountant != Accountant::kFixedSizeTight)
        bounds.rows.push_back({.accountant = accountant});
      continue;
    }
    TACET_ASSIGN_OR_RETURN(std::optional<EpsilonBound> bound, BoundBy(accountant, stream, delta));
    if (bound) bounds.rows.push_back(*std::move(bound));
  }
  return bounds;
}

absl::StatusOr<double> UpperEpsilon(const std::vector<RepeatedEvent>& stream, double delta) {
  if (stream.size() > kMaxPldRounds) return kInfinity;
  return PldUpperEpsilon(stream, delta);
}

}  // namespace tacet::accounting
