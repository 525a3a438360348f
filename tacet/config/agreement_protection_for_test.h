// Strength of an agreement, computed without the code of policies, and changes of its keys: tests
// that no key of an agreement switches off what a policy demands.
#ifndef TACET_CONFIG_AGREEMENT_PROTECTION_FOR_TEST_H_
#define TACET_CONFIG_AGREEMENT_PROTECTION_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest.h"
#include "tacet/base/json.h"
#include "tacet/config/run_config.h"
#include "tacet/config/toml.h"

namespace tacet::config {

// Every protection of an agreement that a site relies on, by itself: no code of the policy's is
// used. Epsilon is that of the base's guarantee: its colluders, appearances, neighbours and delta.
struct Protection {
  double epsilon = 0;
  double delta = 0;
  uint64_t colluders = 0, appearances = 0, min_participants = 0;
  uint64_t seats = 0, corrupt = 0, packing = 0;
  bool hides_participation = false;
  accounting::Unit unit = accounting::Unit::kClient;
  accounting::Neighbouring neighbouring = accounting::Neighbouring::kReplaceOne;
  std::set<std::string> columns = {};
  std::string person_column = {};
};

inline Protection ProtectionOf(const RunConfig& config, const agreement::Manifest& manifest,
                               const agreement::ManifestSpec& base) {
  const agreement::ManifestSpec& agreed = manifest.spec();
  Protection has{.epsilon = std::numeric_limits<double>::infinity(),
                 .delta = agreed.privacy.delta,
                 .colluders = agreed.privacy.colluders,
                 .appearances = agreed.sampling.appearances,
                 .min_participants = agreed.sampling.min_participants,
                 .seats = agreed.committee.seats,
                 .corrupt = agreed.committee.corrupt,
                 .packing = agreed.committee.packing,
                 .hides_participation = agreed.sampling.dummy_uploads,
                 .unit = agreed.privacy.unit,
                 .neighbouring = agreed.privacy.neighbouring,
                 .person_column = config.data.csv_person_column};
  // Columns under names of the agreement's own may be any.
  has.columns.insert(config.data.csv_label_column);
  if (!has.person_column.empty()) has.columns.insert(has.person_column);
  for (const std::string& name : config.data.csv_columns) has.columns.insert("renamed " + name);
  if (config.data.csv_features.empty()) has.columns.insert("everything");
  for (const std::string& text : config.data.csv_features) {
    has.columns.insert(text.substr(0, text.find(' ')));
  }
  if (!agreed.mechanism.makes_guarantee() || agreed.scheme != he::Scheme::kCompact ||
      agreed.privacy.unit != base.privacy.unit) {
    return has;
  }
  accounting::FederationPrivacySpec judged =
      agreement::PrivacyOf(agreed, manifest.attempt_budget());
  // Shares of noise are made for the agreed number of colluders; more of them know more.
  judged.privacy.neighbouring = base.privacy.neighbouring;
  judged.privacy.delta = base.privacy.delta;
  judged.sampling.appearances = std::max(base.sampling.appearances, agreed.sampling.appearances);
  if (const auto guarantees = accounting::GuaranteesOf(judged); guarantees.ok()) {
    has.epsilon = guarantees->epsilon();
  }
  if (agreed.privacy.budget_epsilon > 0) {
    has.epsilon = std::min(has.epsilon, agreed.privacy.budget_epsilon);
  }
  return has;
}

// The protections that are weaker in `now` than in `base`; empty: none.
inline std::string WeakerThan(const Protection& base, const Protection& now) {
  if (now.epsilon > base.epsilon) return "epsilon";
  if (now.delta > base.delta) return "delta";
  if (now.colluders < base.colluders) return "colluders";
  if (now.appearances < base.appearances) return "appearances";
  if (now.min_participants < base.min_participants) return "K_min";
  if (now.seats < base.seats) return "seats";
  if (now.corrupt < base.corrupt) return "corrupt seats";
  if (now.packing > base.packing) return "packing";
  if (base.hides_participation && !now.hides_participation) return "dummy uploads";
  if (now.unit != base.unit) return "unit";
  if (now.neighbouring != base.neighbouring) return "neighbours";
  if (!std::ranges::includes(base.columns, now.columns)) return "columns";
  if (now.unit == accounting::Unit::kPerson && now.person_column != base.person_column)
    return "persons";
  return "";
}

// Values of every kind around the one that is agreed.
inline std::vector<base::JsonValue> Mutations(std::string_view key, const base::JsonValue& value) {
  static const std::map<std::string_view, std::vector<std::string>> words = {
      {"model.name", {"logistic", "femnist-cnn"}},
      {"federation.sampling", {"fixed-size", "poisson", "none"}},
      {"privacy.unit", {"client", "person", "record"}},
      {"privacy.neighbouring", {"replace-one", "zero-out"}},
      {"privacy.sampler", {"box-muller", "polar", "ziggurat"}},
      {"aggregation.parameters", {"paper", "paper-secret-key"}}};
  std::vector<base::JsonValue> all;
  if (const auto known = words.find(key); known != words.end()) {
    for (const std::string& word : known->second) all.emplace_back(word);
  } else if (value.AsBool().ok()) {
    all.emplace_back(!*value.AsBool());
  } else if (value.is_number()) {
    const double number = *value.AsDouble();
    const bool whole = value.AsUint().ok();
    for (const double other : {0.0, 1.0, number / 2, number - 1, number * 0.99, number * 1.01,
                               number + 1, number * 2, number * 10, 1e-7, 0.3, 1e6}) {
      if (other < 0 || other == number) continue;
      all.push_back(whole ? base::JsonValue(static_cast<uint64_t>(other)) : base::JsonValue(other));
    }
  } else if (value.is_array()) {
    all.push_back(base::JsonValue::MakeArray());
    base::JsonValue longer = value, shorter = base::JsonValue::MakeArray();
    const bool numbers = key == "model.hidden" || key == "model.input_shape";
    longer.Append(numbers ? base::JsonValue(4) : base::JsonValue("hiv 0..1"));
    for (size_t i = 1; i < value.items().size(); ++i) shorter.Append(value.items()[i]);
    all.push_back(std::move(longer));
    all.push_back(std::move(shorter));
  } else if (value.is_string()) {
    for (const std::string_view other : {"", "age", "hiv", "3"}) all.emplace_back(other);
  }
  return all;
}

// Every key of an agreement, with its value.
inline std::vector<std::pair<std::string, base::JsonValue>> KeysOf(const RunConfig& config) {
  const base::JsonValue root = *ParseToml(AgreedToml(config), "agreed.toml");
  std::vector<std::pair<std::string, base::JsonValue>> keys;
  for (const auto& [section, content] : root.members()) {
    for (const auto& [name, value] : content.members()) {
      keys.emplace_back(section + "." + name, value);
    }
  }
  return keys;
}

}  // namespace tacet::config

#endif  // TACET_CONFIG_AGREEMENT_PROTECTION_FOR_TEST_H_
