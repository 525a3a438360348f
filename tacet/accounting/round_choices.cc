#include "tacet/accounting/round_choices.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tacet/accounting/count_laws.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/log_moments.h"

namespace tacet::accounting {
namespace {

// Noises up to this ratio are taken together where they are least, more where they are larger.
constexpr double kNoiseStep = 0.006;
constexpr double kWidestNoiseStep = 0.15;
// Ratio of neighbouring rates, in deviations of the share that is drawn; 1 + this at most.
constexpr double kRateStep = 1.5;
constexpr double kLeastRateStep = 1e-3;
constexpr double kLeastFixedRateStep = 0.08;
constexpr double kWidestRateStep = 0.15;
// Rates of numbers that have less than these shares of the likeliest number's probability are
// taken from every second node, and from every fourth.
constexpr double kUnlikely = 1e-3;
constexpr double kVeryUnlikely = 1e-6;

// Numbers drawn, of one law, that are told apart, and parts of a mixture.
constexpr size_t kMostNumbers = 400;
constexpr size_t kMostParts = 16;
// Laws of smaller cohorts, which hardly ever are the largest.
constexpr double kLawsOfHalved = 12;

bool IsPooled(const WeightedEvent& part) { return part.event.pool > 0; }

bool IsDrawn(const WeightedEvent& part) {
  return part.probability > 0 && part.event.sampling_rate > 0;
}

uint64_t CohortOf(const SamplingEvent& event) {
  return static_cast<uint64_t>(std::llround(event.sampling_rate * static_cast<double>(event.pool)));
}

// The number drawn of `here` clients. A cohort of fixed size is drawn from the whole pool; the
// server halves it, `halvings` times, after sums that were refused.
CountLaw DrawnLaw(const SamplingEvent& event, uint64_t here, int halvings) {
  if (event.sampling == Sampling::kPoissonKnownSize) return BinomialLaw(here, event.sampling_rate);
  return HypergeometricLaw(event.pool, here, CohortOf(event) >> halvings);
}

// Neighbouring numbers taken together, as the lowest of them or as the highest.
CountLaw Shortened(const CountLaw& law, bool lowest) {
  const size_t size = law.probability.size();
  const size_t together = (size + kMostNumbers - 1) / kMostNumbers;
  if (together <= 1) return law;
  CountLaw shorter{
      .first = law.first, .probability = std::vector<double>(size, 0.0), .above = law.above};
  for (size_t i = 0; i < size; ++i) {
    const size_t start = i - i % together;
    shorter.probability[lowest ? start : std::min(start + together, size) - 1] +=
        law.probability[i];
  }
  return shorter;
}

double NoiseOf(const SamplingEvent& event, uint64_t drawn) {
  return event.noise_stddev *
         std::sqrt(static_cast<double>(drawn) / static_cast<double>(event.least));
}

SamplingEvent Form(const SamplingEvent& like, double rate, double noise) {
  SamplingEvent form = like;
  form.sampling = Sampling::kFixedSize;
  form.pool = form.least = 0;
  form.sampling_rate = rate;
  form.noise_stddev = noise;
  return form;
}

// For one number drawn: a rate and a noise, by how likely it is and how unlikely compared with its
// law's likeliest.
struct Entry {
  size_t law = 0;
  double probability = 0;
  double rate = 0;
  double noise = 0;
  double relative = 1;
};

// Parts of a mixture that are taken together: those of colluders, of whom more or fewer were drawn.
struct Part {
  double probability = 0;
  SamplingEvent fewer;  // that with the smallest cohort, and with the largest
  SamplingEvent more;
  uint64_t least = 0;   // the smallest number that one of them releases
  uint64_t enough = 0;  // the smallest number that all of them release
};

class ChoicesBuilder {
 public:
  ChoicesBuilder(std::vector<WeightedEvent> parts, const ChoicesSpec& spec)
      : mixture_(std::move(parts)), spec_(spec), pool_(mixture_.front().event.pool) {
    std::ranges::stable_sort(mixture_, {}, [](const WeightedEvent& w) { return w.event.least; });
    const size_t together = (mixture_.size() + kMostParts - 1) / kMostParts;
    for (size_t i = 0; i < mixture_.size(); ++i) {
      const auto& [probability, event] = mixture_[i];
      if (i % together == 0) {
        parts_.push_back(
            {.fewer = event, .more = event, .least = event.least, .enough = event.least});
      }
      Part& part = parts_.back();
      part.probability += probability;
      part.enough = std::max(part.enough, event.least);
      if (event.sampling_rate < part.fewer.sampling_rate) part.fewer = event;
      if (event.sampling_rate > part.more.sampling_rate) part.more = event;
    }
    least_noise_ = kInfinity;
    for (const WeightedEvent& part : mixture_) {
      least_noise_ = std::min(least_noise_, part.event.noise_stddev);
      largest_least_ = std::max(largest_least_, part.event.least);
      highest_rate_ = std::max(highest_rate_, part.event.sampling_rate);
    }
  }

  RoundChoices Build() {
    if (IsFixedSize()) AddDrawnIsHere();
    const int most_halvings = IsFixedSize() ? 31 : 0;
    for (int halvings = 0; halvings <= most_halvings; ++halvings) {
      if (!CanRelease(halvings)) break;
      AddNumbersHere(halvings);
    }
    MakeForms();
    return std::move(choices_);
  }

 private:
  bool IsFixedSize() const { return mixture_.front().event.sampling == Sampling::kFixedSize; }

  bool CanRelease(int halvings) const {
    return std::ranges::any_of(mixture_, [&](const WeightedEvent& part) {
      return part.event.sampling != Sampling::kFixedSize ||
             CohortOf(part.event) >> halvings >= part.event.least;
    });
  }

  // Everybody who is drawn is here, however few are drawn.
  void AddDrawnIsHere() {
    RoundChoices::Law law;
    if (std::ranges::all_of(mixture_, [](const WeightedEvent& part) {
          return CohortOf(part.event) == part.event.least;
        })) {
      law.here = pool_;
    }
    for (const WeightedEvent& part :
         GroupMixture(mixture_, GroupedFor::kUpperBound, spec_.ungrouped)) {
      law.weights.emplace_back(static_cast<uint32_t>(choices_.forms.size()), part.probability);
      choices_.forms.push_back(Form(part.event, part.event.sampling_rate, part.event.noise_stddev));
    }
    choices_.laws.push_back(std::move(law));
  }

  // Probability, at most, that enough are drawn, or too few; each is added up by itself.
  double Chance(uint64_t here, int halvings, bool enough) const {
    double total = 0;
    for (const Part& part : parts_) {
      const CountLaw law = DrawnLaw(enough ? part.more : part.fewer, here, halvings);
      const uint64_t least = enough ? part.least : part.enough;
      double chance = enough ? law.above : 0;
      for (size_t i = 0; i < law.probability.size(); ++i) {
        if ((law.first + i >= least) == enough) chance += law.probability[i];
      }
      total += part.probability * chance;
    }
    return total;
  }

  // The least number here, in [low, high], for which `holds`, which it then does for all above.
  template <typename Holds>
  static uint64_t LeastThat(uint64_t low, uint64_t high, const Holds& holds) {
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (holds(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  void AddNumbersHere(int halvings) {
    uint64_t least = pool_;
    for (const Part& part : parts_) least = std::min(least, part.least);
    // Below the first a release is negligible, from the last on a failure is.
    const uint64_t first = LeastThat(least, pool_, [&](uint64_t here) {
      return Chance(here, halvings, true) > spec_.negligible;
    });
    const uint64_t last = LeastThat(first, pool_, [&](uint64_t here) {
      return Chance(here, halvings, false) <= spec_.negligible;
    });
    const double most = halvings == 0 ? static_cast<double>(spec_.most_laws) : kLawsOfHalved;
    const double ratio =
        std::exp(std::log(static_cast<double>(last + 1) / static_cast<double>(first)) / most);
    for (uint64_t here = first; here <= last;) {
      const auto next = std::max<uint64_t>(
          here + 1, static_cast<uint64_t>(std::floor(static_cast<double>(here) * ratio)));
      AddCell(here, std::min(next - 1, last), halvings);
      here = next;
    }
  }

  // Numbers here from `low` to `high`. The number drawn lies between those of the two ends, all of
  // them at one quantile.
  void AddCell(uint64_t low, uint64_t high, int halvings) {
    const size_t law = choices_.laws.size();
    choices_.laws.push_back({.here = halvings == 0 ? low : 0});
    double certain = 2 * spec_.negligible;
    for (const Part& part : parts_) {
      const CountLaw fewer = Shortened(DrawnLaw(part.fewer, low, halvings), true);
      const CountLaw more = Shortened(DrawnLaw(part.more, high, halvings), false);
      certain += part.probability * (fewer.above + more.above);
      const double likeliest = std::ranges::max(more.probability);
      // Both tables add to 1 but for rounding: what is left of one goes with the other's last.
      size_t i = 0, j = 0;
      double left_fewer = fewer.probability[0], left_more = more.probability[0];
      while (true) {
        const double share = std::min(left_fewer, left_more);
        const uint64_t at_most = more.first + j;
        if (at_most >= part.least && share > 0) {
          entries_.push_back(
              {.law = law,
               .probability = part.probability * share,
               .rate = std::min(1.0, static_cast<double>(at_most) / static_cast<double>(low)),
               .noise = std::max(NoiseOf(part.fewer, std::max(fewer.first + i, part.least)),
                                 least_noise_),
               .relative = more.probability[j] / likeliest});
        }
        const bool ends_fewer = left_fewer <= left_more;
        const bool ends_more = left_more <= left_fewer;
        left_fewer -= share;
        left_more -= share;
        if (ends_fewer) {
          left_fewer = i + 1 < fewer.probability.size() ? fewer.probability[++i] : kInfinity;
        }
        if (ends_more) {
          left_more = j + 1 < more.probability.size() ? more.probability[++j] : kInfinity;
        }
        if (left_fewer == kInfinity && left_more == kInfinity) break;
      }
    }
    entries_.push_back({.law = law, .probability = certain, .rate = 1, .noise = least_noise_});
  }

  // The lowest noise of each group, by the lowest that it may have.
  std::vector<double> NoiseGroups(double highest) const {
    std::vector<double> lows = {least_noise_};
    while (lows.back() < highest) {
      const double ratio = lows.back() / least_noise_;
      const double deviations =
          (ratio * ratio - 1) * std::sqrt(static_cast<double>(largest_least_));
      const double step =
          std::min(kNoiseStep * (1 + deviations * deviations / 4), kWidestNoiseStep);
      lows.push_back(lows.back() * (1 + spec_.coarseness * step));
    }
    return lows;
  }

  void MakeForms() {
    double highest = least_noise_;
    for (const Entry& entry : entries_) highest = std::max(highest, entry.noise);
    const std::vector<double> lows = NoiseGroups(highest);
    const auto group_of = [&](double noise) {
      return static_cast<size_t>(std::ranges::upper_bound(lows, noise) - lows.begin()) - 1;
    };
    std::vector<double> noise_of(lows.size(), kInfinity);
    for (const Entry& entry : entries_) {
      double& noise = noise_of[group_of(entry.noise)];
      noise = std::min(noise, entry.noise);
    }
    // Nodes of rates are powers of a ratio around the rate with everybody here.
    const double step =
        kRateStep * std::sqrt((1 - highest_rate_) / static_cast<double>(largest_least_));
    const double log_ratio = std::log1p(
        spec_.coarseness *
        std::clamp(step, IsFixedSize() ? kLeastFixedRateStep : kLeastRateStep, kWidestRateStep));
    const auto rate_of = [&](int node) {
      return std::min(1.0, highest_rate_ * std::exp(-node * log_ratio));
    };
    std::map<std::pair<double, double>, uint32_t> forms;  // by noise and rate
    for (uint32_t i = 0; i < choices_.forms.size(); ++i) {
      forms.try_emplace({choices_.forms[i].noise_stddev, choices_.forms[i].sampling_rate}, i);
    }
    std::map<uint32_t, double> weights;
    const auto add = [&](double noise, double rate, double probability) {
      const auto [found, is_new] =
          forms.try_emplace({noise, rate}, static_cast<uint32_t>(choices_.forms.size()));
      if (is_new) choices_.forms.push_back(Form(mixture_.front().event, rate, noise));
      weights[found->second] += probability;
    };
    for (size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      const int stride = entry.relative < kVeryUnlikely ? 4 : entry.relative < kUnlikely ? 2 : 1;
      const double position = std::log(highest_rate_ / entry.rate) / (log_ratio * stride);
      const int above = static_cast<int>(std::floor(position)) * stride;
      const double high = rate_of(above), low = rate_of(above + stride);
      const double share =
          high > low ? std::clamp((entry.rate - low) / (high - low), 0.0, 1.0) : 1.0;
      const double noise = noise_of[group_of(entry.noise)];
      if (share > 0) add(noise, high, entry.probability * share);
      if (share < 1) add(noise, low, entry.probability * (1 - share));
      if (i + 1 == entries_.size() || entries_[i + 1].law != entry.law) {
        choices_.laws[entry.law].weights.assign(weights.begin(), weights.end());
        weights.clear();
      }
    }
  }

  std::vector<WeightedEvent> mixture_;
  ChoicesSpec spec_;
  uint64_t pool_;
  double least_noise_ = 0;
  double highest_rate_ = 0;
  uint64_t largest_least_ = 1;
  std::vector<Part> parts_;
  std::vector<Entry> entries_;
  RoundChoices choices_;
};

}  // namespace

size_t RoundChoices::WorstAtZero(size_t first, size_t last, double distance) const {
  size_t worst = first;
  double largest = -1;
  for (size_t i = first; i < last; ++i) {
    double total = 0;
    for (const auto& [form, weight] : laws[i].weights) {
      const SamplingEvent& event = forms[form];
      const double length = distance * event.clip_norm / event.noise_stddev;
      total += weight * event.sampling_rate * (1 - 2 * NormalTail(0.5 * length));
    }
    if (total > largest) {
      largest = total;
      worst = i;
    }
  }
  return worst;
}

RoundChoices ChoicesOf(const std::vector<WeightedEvent>& mixture, const ChoicesSpec& spec) {
  std::vector<WeightedEvent> pooled, others;
  for (const WeightedEvent& part : mixture) {
    if (IsDrawn(part)) (IsPooled(part) ? pooled : others).push_back(part);
  }
  if (pooled.empty()) {
    return OnlyChoice(GroupMixture(mixture, GroupedFor::kUpperBound, spec.ungrouped));
  }
  RoundChoices choices = ChoicesBuilder(std::move(pooled), spec).Build();
  for (const WeightedEvent& part : others) {
    for (RoundChoices::Law& law : choices.laws) {
      law.weights.emplace_back(static_cast<uint32_t>(choices.forms.size()), part.probability);
    }
    choices.forms.push_back(part.event);
  }
  return choices;
}

RoundChoices OnlyChoice(const std::vector<WeightedEvent>& parts) {
  RoundChoices choices{.laws = {{}}};
  for (const WeightedEvent& part : parts) {
    if (part.event.sampling_rate <= 0) continue;
    choices.laws.front().weights.emplace_back(static_cast<uint32_t>(choices.forms.size()),
                                              part.probability);
    choices.forms.push_back(part.event);
  }
  return choices;
}

std::vector<WeightedEvent> WithHere(const std::vector<WeightedEvent>& mixture, uint64_t here) {
  std::vector<WeightedEvent> forms;
  for (const WeightedEvent& part : mixture) {
    if (!IsPooled(part) || !IsDrawn(part)) {
      SamplingEvent event = part.event;
      if (IsPooled(part)) event = Form(event, 0, event.noise_stddev);
      forms.push_back({part.probability, event});
      continue;
    }
    double nothing = 0;
    const CountLaw law = DrawnLaw(part.event, here, 0);
    for (size_t i = 0; i < law.probability.size(); ++i) {
      const uint64_t drawn = law.first + i;
      if (drawn < part.event.least) {
        nothing += law.probability[i];
      } else {
        const double rate = static_cast<double>(drawn) / static_cast<double>(here);
        forms.push_back({part.probability * law.probability[i],
                         Form(part.event, rate, NoiseOf(part.event, drawn))});
      }
    }
    nothing += law.above;
    if (nothing > 0) {
      forms.push_back({part.probability * nothing, Form(part.event, 0, part.event.noise_stddev)});
    }
  }
  return forms;
}

bool HasChoices(const std::vector<WeightedEvent>& mixture) {
  return std::ranges::any_of(
      mixture, [](const WeightedEvent& part) { return IsPooled(part) && IsDrawn(part); });
}

double LargestLogMoment(const RoundChoices& choices,
                        const std::function<double(const SamplingEvent&)>& log_moment) {
  std::vector<double> log_excess;  // of a form's moment over 1
  for (const SamplingEvent& form : choices.forms) {
    const double moment = log_moment(form);
    if (std::isnan(moment)) return kInfinity;
    log_excess.push_back(moment > 0 ? LogExpm1(moment) : -kInfinity);
  }
  double largest = 0;
  for (const RoundChoices::Law& law : choices.laws) {
    double excess = -kInfinity;
    for (const auto& [form, weight] : law.weights) {
      if (weight > 0) excess = LogAddExp(excess, std::log(weight) + log_excess[form]);
    }
    largest = std::max(largest, LogOnePlusExp(excess));
  }
  return largest;
}

size_t WorstLaw(const RoundChoices& choices, double order) {
  std::vector<double> log_excess;
  double highest = -kInfinity;
  for (const SamplingEvent& form : choices.forms) {
    const double moment =
        LogMomentMixtureFirstReal(order, form.sampling_rate, Sensitivity(form) / form.noise_stddev);
    log_excess.push_back(moment > 0 ? LogExpm1(moment) : -kInfinity);
    if (std::isfinite(log_excess.back())) highest = std::max(highest, log_excess.back());
  }
  size_t worst = 0;
  double largest = -1;
  for (size_t i = 0; i < choices.laws.size(); ++i) {
    if (choices.laws[i].here == 0) continue;
    double total = 0;
    for (const auto& [form, weight] : choices.laws[i].weights) {
      if (std::isfinite(log_excess[form])) total += weight * std::exp(log_excess[form] - highest);
    }
    if (total > largest) {
      largest = total;
      worst = i;
    }
  }
  return worst;
}

}  // namespace tacet::accounting
