#include "tacet/accounting/rdp_accountant.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include <boost/math/tools/minima.hpp>

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/log_moments.h"
#include "tacet/accounting/round_choices.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

constexpr int kMaxIntegerOrder = 16384;
constexpr double kMinReal = 1e-3;
constexpr double kMaxReal = 1e5;

// A stream of rounds with the choices of each.
struct ChosenRounds {
  RoundChoices choices;
  uint64_t count = 0;
};

// The sum over the stream of log E[(P/Q)^l], each round's mean taken over the law for which it is
// largest.
double StreamLogMoment(const std::vector<ChosenRounds>& stream,
                       const std::function<double(const SamplingEvent&)>& log_moment) {
  double total = 0;
  for (const ChosenRounds& rounds : stream) {
    total += static_cast<double>(rounds.count) * LargestLogMoment(rounds.choices, log_moment);
  }
  return std::isnan(total) ? kInfinity : total;
}

bool ReleasesNothing(const std::vector<RepeatedEvent>& stream) {
  return std::all_of(stream.begin(), stream.end(), [](const RepeatedEvent& repeated) {
    return repeated.count == 0 ||
           std::all_of(repeated.round.begin(), repeated.round.end(), [](const WeightedEvent& w) {
             return w.probability == 0 || w.event.sampling_rate == 0;
           });
  });
}

RdpResult Finished(double epsilon, double order) {
  if (std::isnan(epsilon) || epsilon == kInfinity) {
    return {.epsilon = kInfinity, .order = 0};
  }
  // The rule holds for every epsilon >= 0; below 0 it says that delta(0) <= delta.
  return epsilon <= 0 ? RdpResult{} : RdpResult{.epsilon = epsilon, .order = order};
}

// Choices on the safe side.
std::vector<ChosenRounds> Chosen(const std::vector<RepeatedEvent>& stream) {
  std::vector<ChosenRounds> chosen;
  for (const RepeatedEvent& repeated : stream) {
    chosen.push_back(
        {.choices = ChoicesOf(repeated.round, kMomentChoices), .count = repeated.count});
  }
  return chosen;
}

double ProvedLogMoment(const SamplingEvent& event, int order) {
  return event.sampling == Sampling::kFixedSize ? LogMomentReal(event, order)
                                                : LogMoment(event, order);
}

RdpResult IntegerOrders(const std::vector<ChosenRounds>& stream, double delta) {
  const auto epsilon_at = [&](int l) {
    const double log_moment = StreamLogMoment(
        stream, [l](const SamplingEvent& event) { return ProvedLogMoment(event, l); });
    return EpsilonOfLogMoment(log_moment, l, std::log(delta));
  };
  // The moments are convex in l, so the function falls and then rises: double, then narrow.
  int low = 1;
  int high = 2;
  double at_low = epsilon_at(low);
  double at_high = epsilon_at(high);
  while (at_high < at_low && high < kMaxIntegerOrder - 1) {
    low = high;
    at_low = at_high;
    high = std::min(2 * high, kMaxIntegerOrder - 1);
    at_high = epsilon_at(high);
  }
  int best = at_high < at_low ? high : low;
  double smallest = std::min(at_low, at_high);
  int left = std::max(1, low / 2);
  int right = high;
  while (right - left > 2) {
    const int a = left + (right - left) / 3;
    const int b = right - (right - left) / 3;
    if (epsilon_at(a) < epsilon_at(b)) {
      right = b;
    } else {
      left = a;
    }
  }
  for (int l = left; l <= right; ++l) {
    if (const double epsilon = epsilon_at(l); epsilon < smallest) {
      smallest = epsilon;
      best = l;
    }
  }
  return Finished(smallest, best + 1);
}

RdpResult RealOrders(const std::vector<ChosenRounds>& stream, double delta) {
  const auto epsilon_at = [&](double log_l) {
    const double l = std::exp(log_l);
    const double log_moment = StreamLogMoment(
        stream, [l](const SamplingEvent& event) { return LogMomentReal(event, l); });
    return EpsilonOfLogMoment(log_moment, l, std::log(delta));
  };
  // A coarse scan first. Where quadrature fails the answer is infinite, and the scan continues.
  // Where it does not, l epsilon(l) is convex (the moments are, and so are l log(l/(l+1)) and
  // -log(l+1)), so epsilon falls and then only rises: the scan ends there, before orders whose
  // integrals are long.
  const double from = std::log(kMinReal);
  const double to = std::log(kMaxReal);
  constexpr int kScan = 20;
  const double stride = (to - from) / kScan;
  int best = 0;
  double smallest = kInfinity;
  for (int i = 0; i <= kScan; ++i) {
    const double epsilon = epsilon_at(from + i * stride);
    if (epsilon < smallest) {
      smallest = epsilon;
      best = i;
    } else if (std::isfinite(epsilon)) {
      break;
    }
  }
  if (smallest == kInfinity) {
    return Finished(kInfinity, 0);
  }
  const double middle = from + best * stride;
  std::uintmax_t turns = 60;
  const auto [log_l, epsilon] = boost::math::tools::brent_find_minima(
      epsilon_at, std::max(from, middle - stride), std::min(to, middle + stride), 26, turns);
  return epsilon < smallest ? Finished(epsilon, std::exp(log_l) + 1)
                            : Finished(smallest, std::exp(middle) + 1);
}

}  // namespace

absl::StatusOr<RdpResult> RdpEpsilon(const std::vector<RepeatedEvent>& stream, double delta) {
  TACET_RETURN_IF_ERROR(CheckDelta(delta));
  TACET_RETURN_IF_ERROR(CheckStream(stream));
  if (ReleasesNothing(stream)) {
    return RdpResult{};
  }
  const std::vector<ChosenRounds> chosen = Chosen(stream);
  const RdpResult real = RealOrders(chosen, delta);
  const RdpResult integer = IntegerOrders(chosen, delta);
  return integer.epsilon < real.epsilon ? integer : real;
}

}  // namespace tacet::accounting
