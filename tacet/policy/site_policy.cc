#include "tacet/policy/site_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "tacet/agreement/manifest.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/nearest_word.h"
#include "tacet/base/status.h"

namespace tacet::policy {
namespace {

using accounting::Neighbouring;
using accounting::Unit;
using base::JsonValue;

absl::Status Assign(const JsonValue& value, double& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsDouble());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, uint64_t& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsUint());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, uint32_t& target) {
  TACET_ASSIGN_OR_RETURN(const uint64_t number, value.AsUint());
  if (number > std::numeric_limits<uint32_t>::max()) {
    return base::InvalidArgument("is {}, it must be below 2^32", number);
  }
  target = static_cast<uint32_t>(number);
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, bool& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsBool());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, std::string& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsString());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, std::optional<std::string>& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsString());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, Unit& target) {
  TACET_ASSIGN_OR_RETURN(const std::string word, value.AsString());
  TACET_ASSIGN_OR_RETURN(target, accounting::ParseUnit(word));
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, Neighbouring& target) {
  TACET_ASSIGN_OR_RETURN(const std::string word, value.AsString());
  TACET_ASSIGN_OR_RETURN(target, accounting::ParseNeighbouring(word));
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, dp::NoiseLaw& target) {
  TACET_ASSIGN_OR_RETURN(const std::string word, value.AsString());
  TACET_ASSIGN_OR_RETURN(target, dp::ParseNoiseLaw(word));
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, ChangeKind& target) {
  TACET_ASSIGN_OR_RETURN(const std::string word, value.AsString());
  TACET_ASSIGN_OR_RETURN(target, ParseChangeKind(word));
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, std::optional<double>& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsDouble());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, std::optional<ledger::ChargingRule>& target) {
  TACET_ASSIGN_OR_RETURN(const std::string word, value.AsString());
  TACET_ASSIGN_OR_RETURN(target, ledger::ParseChargingRule(word));
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, std::optional<crypto::PublicKey>& target) {
  TACET_ASSIGN_OR_RETURN(const std::string text, value.AsString());
  TACET_ASSIGN_OR_RETURN(target, agreement::ParseFingerprint(text));
  return absl::OkStatus();
}
// A list with at least one element.
template <typename T>
absl::Status Assign(const JsonValue& value, std::vector<T>& target) {
  if (!value.is_array() || value.items().empty()) {
    return base::InvalidArgument("is not a list of one or more");
  }
  target.clear();
  for (const JsonValue& item : value.items()) {
    TACET_RETURN_IF_ERROR(Assign(item, target.emplace_back()));
  }
  return absl::OkStatus();
}

// Reads keys, and knows afterwards which ones there are.
class Keys {
 public:
  Keys(const JsonValue& root, std::string_view source) : root_(root), source_(source) {}

  template <typename T>
  void Take(const std::string& key, T& target) {
    Read(key, target, false);
  }
  template <typename T>
  void Need(const std::string& key, T& target) {
    Read(key, target, true);
  }
  void Check(const std::string& key, bool holds, std::string_view rule) {
    if (!holds) Fail(key, base::InvalidArgument("must be {}", rule));
  }
  void NeedFor(std::string_view reason, const std::string& key) {
    if (Find(key) == nullptr) Fail(key, base::InvalidArgument("is missing: {}", reason));
  }

  // The first thing that was wrong; an unknown key before all others.
  absl::Status Finish() const {
    for (const auto& [section, content] : root_.members()) {
      if (!content.is_object()) {
        return base::InvalidArgument("{}: unknown key `{}` (every key is in a section)", source_,
                                     section);
      }
      for (const auto& [name, value] : content.members()) {
        const std::string key = fmt::format("{}.{}", section, name);
        if (known_.contains(key)) continue;
        const std::vector<std::string_view> words(known_.begin(), known_.end());
        const std::optional<std::string> nearest = base::NearestWord(key, words);
        return base::InvalidArgument(
            "{}: unknown key `{}`{}", source_, key,
            nearest.has_value() ? fmt::format("; `{}` may be meant", *nearest) : "");
      }
    }
    return status_;
  }

 private:
  template <typename T>
  void Read(const std::string& key, T& target, bool needed) {
    known_.insert(key);
    const JsonValue* const value = Find(key);
    if (value == nullptr) {
      if (needed) Fail(key, base::InvalidArgument("is missing"));
      return;
    }
    Fail(key, Assign(*value, target));
  }
  const JsonValue* Find(const std::string& key) const {
    const size_t point = key.find('.');
    const JsonValue* const section = root_.Find(key.substr(0, point));
    return section == nullptr ? nullptr : section->Find(key.substr(point + 1));
  }
  void Fail(const std::string& key, const absl::Status& wrong) {
    status_.Update(base::Annotate(wrong, fmt::format("{}: key `{}`", source_, key)));
  }

  const JsonValue& root_;
  std::string_view source_;
  std::set<std::string> known_;
  absl::Status status_;
};

template <typename T>
bool Lists(const std::vector<T>& list, const T& value) {
  return std::ranges::find(list, value) != list.end();
}

// Section [acceptance]. A limit that is left open would be decided by the coordinator alone, so a
// policy that accepts without a person states every one.
void TakeAcceptance(Keys& keys, SitePolicy& policy) {
  constexpr std::string_view kAsk = "ask", kWithinPolicy = "within-policy";
  constexpr std::string_view kReason = "a policy that accepts without a person states this limit";
  std::string accept(kAsk);
  keys.Take("acceptance.accept", accept);
  keys.Take("acceptance.kinds", policy.accepted_kinds);
  keys.Take("acceptance.epsilon", policy.accepted_epsilon);
  keys.Take("acceptance.unknown_members", policy.unknown_members);
  const double most = policy.accepted_epsilon.value_or(1);
  keys.Check("acceptance.epsilon", most > 0 && std::isfinite(most), "a positive number");
  keys.Check("acceptance.accept", accept == kAsk || accept == kWithinPolicy,
             "\"ask\" or \"within-policy\"");
  if (accept != kWithinPolicy) {
    policy.accepted_kinds.clear();
    return;
  }
  keys.NeedFor("it says what is accepted without a person", "acceptance.kinds");
  keys.NeedFor(kReason, "privacy.neighbouring");
  keys.NeedFor(kReason, "privacy.noise_laws");
  keys.NeedFor(kReason, "privacy.colluders");
  if (Lists(policy.units, Unit::kClient)) keys.NeedFor(kReason, "federation.dummy_uploads");
  if (policy.smallest_unit() != Unit::kClient) keys.NeedFor(kReason, "privacy.appearances");
  if (Lists(policy.units, Unit::kPerson)) {
    keys.NeedFor(kReason, "data.person_column");
    keys.Check("data.person_column", !policy.person_column.empty(),
               "the name of a column in a policy that accepts without a person");
  }
  if (!Lists(policy.accepted_kinds, ChangeKind::kQuery)) return;
  keys.NeedFor(kReason, "query.kinds");
  keys.NeedFor(kReason, "query.floor");
  keys.NeedFor(kReason, "query.site_groups");
}

}  // namespace

Unit SitePolicy::smallest_unit() const {
  for (const Unit unit : {Unit::kRecord, Unit::kPerson}) {
    if (Lists(units, unit)) return unit;
  }
  return Unit::kClient;
}

absl::StatusOr<SitePolicy> ReadSitePolicy(const JsonValue& root, std::string_view source) {
  SitePolicy policy;
  Keys keys(root, source);
  std::optional<std::string> population;
  bool others = false;
  keys.Need("policy.sites", policy.sites);
  keys.Need("policy.serial", policy.serial);
  keys.Take("policy.successor", policy.successor);
  keys.Need("privacy.epsilon_per_year", policy.epsilon_per_year);
  keys.Need("privacy.delta", policy.delta);
  keys.Need("privacy.units", policy.units);
  keys.Take("privacy.neighbouring", policy.neighbouring);
  keys.Take("privacy.noise_laws", policy.noise_laws);
  keys.Take("privacy.colluders", policy.colluders);
  keys.Take("privacy.appearances", policy.appearances);
  keys.Need("federation.min_participants", policy.min_participants);
  keys.Need("federation.committee_seats", policy.committee_seats);
  keys.Need("federation.committee_corrupt", policy.committee_corrupt);
  keys.Take("federation.committee_packing", policy.committee_packing);
  keys.Take("federation.dummy_uploads", policy.dummy_uploads);
  keys.Need("data.records", policy.records);
  keys.Need("data.columns", policy.columns);
  keys.Take("data.person_column", policy.person_column);
  keys.Need("training.kinds", policy.kinds);
  keys.Take("query.kinds", policy.question_kinds);
  keys.Take("query.floor", policy.floor);
  keys.Take("query.site_groups", policy.site_groups);
  TakeAcceptance(keys, policy);
  keys.Need("ledger.folder", policy.ledger_folder);
  keys.Take("ledger.rule", policy.rule);
  keys.Take("ledger.population", population);
  keys.Take("ledger.others", others);
  keys.Check("policy.serial", policy.serial >= 1, "1 or more");
  keys.Check("training.kinds",
             std::ranges::all_of(policy.kinds,
                                 [](const std::string& kind) {
                                   return kind == kTraining || kind == agreement::kQueryModel;
                                 }),
             "a list of \"training\" and \"query\"");
  keys.Check("privacy.epsilon_per_year",
             policy.epsilon_per_year > 0 && std::isfinite(policy.epsilon_per_year),
             "a positive number");
  keys.Check("privacy.delta", policy.delta > 0 && policy.delta < 1, "above 0 and below 1");
  keys.Check("query.floor", policy.floor >= 0 && std::isfinite(policy.floor),
             "a number that is not negative");
  keys.Check("ledger.folder", policy.ledger_folder.starts_with('/'),
             "an absolute path: another folder would be another budget");
  keys.Check(
      "ledger.others", others == population.has_value(),
      "true with ledger.population, and only then: it says that nobody of this population is "
      "in another ledger of the folder");
  if (population.has_value()) {
    keys.Check("ledger.population", ledger::CheckPopulation(*population).ok(),
               "1 to 64 lower-case letters, digits and hyphens");
    keys.Check("ledger.population", *population != ledger::kMainPopulation,
               "another name than \"main\", which is the folder's own population");
    policy.population = *population;
  }
  TACET_RETURN_IF_ERROR(keys.Finish());
  return policy;
}

}  // namespace tacet::policy
