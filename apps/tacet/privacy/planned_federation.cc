#include "apps/tacet/privacy/planned_federation.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "tacet/agreement/terms_table.h"
#include "tacet/base/status.h"
#include "tacet/he/key_sharing.h"

namespace tacet::app::privacy {

namespace {

using agreement::Term;
using agreement::WordOf;

std::string_view WordOf(std::optional<accounting::Sampling> sampling) {
  return sampling.has_value() ? WordOf(*sampling) : "default";
}

template <typename Value>
constexpr bool kIsChoice = requires(Value value) {
  agreement::ChoicesOf(value);
};

template <typename Value>
std::vector<std::string> Words(const Value& value) {
  std::vector<std::string> words;
  if constexpr (!std::is_enum_v<Value>) words.emplace_back(WordOf(Value()));
  for (const auto choice : agreement::ChoicesOf(value)) words.emplace_back(WordOf(choice));
  return words;
}

}  // namespace

void PlannedFederation::Register(program::Options& options) {
  for (const auto& [name, help] : agreement::kTermFlags) {
    std::string flag(name);
    std::ranges::replace(flag, '_', '-');
    agreement::VisitTerms(
        [&]<typename Value>(const Term& term, Value& value) {
          if (term.name() != name) return;
          if constexpr (kIsChoice<Value>) {
            std::string& word = words_[name] = WordOf(value);
            options.AddChoice(flag, help, Words(value), &word);
          } else if constexpr (std::is_same_v<Value, bool>) {
            options.AddFlag(flag, help, &value);
          } else if constexpr (std::is_same_v<Value, double>) {
            options.AddDouble(flag, help, &value);
          } else if constexpr (std::is_same_v<Value, uint64_t> ||
                               std::is_same_v<Value, std::optional<uint64_t>>) {
            options.AddUint(flag, help, &value);
          }
        },
        terms_);
  }
  options.AddUint("rounds", "T, number of rounds, counting every attempt", &rounds_);
  options.AddDouble("noise-multiplier",
                    "sigma / S: standard deviation of the noise in the sum over the clip norm",
                    &noise_multiplier_);
  options.AddDouble("noise-stddev",
                    "sigma itself, in units of an update, in place of --noise-multiplier",
                    &noise_stddev_);
  options.AddString("committee",
                    "N,F: seats of the committee that decrypts sums, and how many of them may "
                    "collude with the server; when not given, as a federation of M clients has",
                    &committee_);
  options.AddDouble("availability",
                    "share of the clients that are available in a round, above 0 and at most 1",
                    &availability_);
  options.AddUint("dimension",
                  "d, values of one update, for the terms of finite arithmetic (when not given, "
                  "486,654) and the warning about too much noise",
                  &dimension_);
}

accounting::FederationPrivacySpec PlannedFederation::Given() const {
  agreement::ManifestSpec terms = terms_;
  agreement::VisitTerms(
      [&]<typename Value>(const Term& term, Value& value) {
        if constexpr (kIsChoice<Value>) {
          for (const auto choice : agreement::ChoicesOf(value)) {
            if (WordOf(choice) == words_.at(term.name())) value = choice;
          }
        }
      },
      terms);
  return {.sampling = terms.sampling, .mechanism = terms.mechanism, .privacy = terms.privacy};
}

absl::StatusOr<accounting::FederationPrivacySpec> PlannedFederation::Read(Varied varied) const {
  accounting::FederationPrivacySpec spec = Given();
  TACET_RETURN_IF_ERROR(SetNoise(varied, spec));
  if (rounds_.has_value() == (varied == Varied::kRounds)) {
    return rounds_ ? base::InvalidArgument("--rounds is what this command varies: leave it out")
                   : base::InvalidArgument("--rounds is missing");
  }
  spec.rounds = rounds_.value_or(1);
  if (!(availability_ > 0 && availability_ <= 1)) {
    return base::InvalidArgument("--availability is {}, expected above 0 and at most 1",
                                 availability_);
  }
  if (availability_ < 1) {
    spec.pool = static_cast<uint64_t>(
        std::floor(availability_ * static_cast<double>(spec.sampling.clients) + 1e-9));
  }
  TACET_RETURN_IF_ERROR(accounting::CheckFederation(spec));
  TACET_RETURN_IF_ERROR(SetCommittee(spec));
  return spec;
}

absl::Status PlannedFederation::SetNoise(Varied varied,
                                         accounting::FederationPrivacySpec& spec) const {
  if (varied == Varied::kNoise) {
    if (noise_multiplier_ || noise_stddev_) {
      return base::InvalidArgument("{} is what this command varies: leave it out",
                                   noise_stddev_ ? "--noise-stddev" : "--noise-multiplier");
    }
    spec.mechanism.noise_stddev = spec.mechanism.clip_norm;
    return absl::OkStatus();
  }
  if (noise_multiplier_.has_value() == noise_stddev_.has_value()) {
    return base::InvalidArgument("--noise-multiplier and --noise-stddev are both {}: give one",
                                 noise_stddev_ ? "given" : "missing");
  }
  if (noise_multiplier_ && !(*noise_multiplier_ >= 0 && std::isfinite(*noise_multiplier_))) {
    return base::InvalidArgument("--noise-multiplier is {}, expected a finite number of 0 or more",
                                 *noise_multiplier_);
  }
  spec.mechanism.noise_stddev =
      noise_stddev_ ? *noise_stddev_ : *noise_multiplier_ * spec.mechanism.clip_norm;
  return absl::OkStatus();
}

absl::Status PlannedFederation::SetCommittee(accounting::FederationPrivacySpec& spec) const {
  const uint64_t clients = spec.sampling.clients;
  he::CommitteeShape shape = agreement::DefaultCommittee(
      clients, static_cast<uint32_t>(std::min<uint64_t>(spec.privacy.colluders, clients - 1)));
  if (committee_) {
    TACET_ASSIGN_OR_RETURN(shape, he::ParseCommittee(*committee_));
    TACET_RETURN_IF_ERROR(he::KeySharing::Create(shape).status());
  }
  if (shape.seats > clients) {
    return base::InvalidArgument("--committee {} has {} seats, the federation only {} clients",
                                 committee_.value_or(""), shape.seats, clients);
  }
  spec.committee_seats = shape.seats;
  spec.corrupt_seats = shape.corrupt;
  return absl::OkStatus();
}

}  // namespace tacet::app::privacy
