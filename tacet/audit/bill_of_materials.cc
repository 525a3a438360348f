#include "tacet/audit/bill_of_materials.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "fmt/chrono.h"
#include "fmt/format.h"

#include "tacet/accounting/privacy_rows.h"
#include "tacet/audit/audit_record.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"

namespace tacet::audit {
namespace {

using base::JsonValue;

JsonValue Property(std::string_view name, const std::string& value) {
  return JsonValue::MakeObject().Set("name", fmt::format("tacet:{}", name)).Set("value", value);
}

// Upwards, in three decimals.
std::string EpsilonText(double epsilon) {
  return std::isfinite(epsilon) ? fmt::format("{:.3f}", std::ceil(epsilon * 1000) / 1000) : "none";
}

JsonValue ModelOf(const AuditedRun& run, const accounting::Guarantees& guarantees) {
  const agreement::ManifestSpec& agreed = run.agreed();
  const accounting::PrivacyRow* const worst = guarantees.headline();
  const bool has_bound = run.has_guarantee() && worst != nullptr && worst->epsilon.has_value();
  JsonValue properties = JsonValue::MakeArray();
  properties.Append(Property("epsilon", has_bound ? EpsilonText(*worst->epsilon) : "none"))
      .Append(Property("delta", fmt::format("{}", agreed.privacy.delta)))
      .Append(Property("unit", std::string(accounting::UnitName(agreed.privacy.unit))))
      .Append(Property("neighbouring",
                       std::string(accounting::NeighbouringName(agreed.privacy.neighbouring))))
      .Append(Property("members", fmt::format("{}", agreed.sampling.clients)))
      .Append(Property("parameters", fmt::format("{}", agreed.dimension)))
      .Append(Property("rounds", fmt::format("{}", run.complete_rounds())))
      .Append(Property("agreement", base::ToHex(run.agreement_digest())))
      .Append(Property("signer", crypto::KeyFingerprint(run.facts.signer)));
  return JsonValue::MakeObject()
      .Set("type", "machine-learning-model")
      .Set("bom-ref", "model")
      .Set("name", agreed.model)
      .Set("modelCard",
           JsonValue::MakeObject().Set(
               "modelParameters", JsonValue::MakeObject().Set("modelArchitecture", agreed.model)))
      .Set("properties", std::move(properties));
}

// `found` holds all of `expected`; `place` is where both are.
absl::Status CheckHolds(const JsonValue& expected, const JsonValue& found, const std::string& place,
                        std::vector<std::string>& added) {
  const auto below = [&](std::string_view name) {
    return place.empty() ? std::string(name) : fmt::format("{}.{}", place, name);
  };
  if (expected.is_object() && found.is_object()) {
    for (const auto& [name, value] : expected.members()) {
      const JsonValue* const member = found.Find(name);
      if (member == nullptr) return base::DataLoss("the bill lacks `{}`", below(name));
      TACET_RETURN_IF_ERROR(CheckHolds(value, *member, below(name), added));
    }
    for (const auto& [name, value] : found.members()) {
      if (expected.Find(name) == nullptr) added.push_back(below(name));
    }
    return absl::OkStatus();
  }
  if (expected.is_array() && found.is_array()) {
    for (size_t i = 0; i < expected.items().size(); ++i) {
      const std::string element = fmt::format("{}[{}]", place, i);
      if (i >= found.items().size()) return base::DataLoss("the bill lacks `{}`", element);
      TACET_RETURN_IF_ERROR(CheckHolds(expected.items()[i], found.items()[i], element, added));
    }
    for (size_t i = expected.items().size(); i < found.items().size(); ++i) {
      added.push_back(fmt::format("{}[{}]", place, i));
    }
    return absl::OkStatus();
  }
  if (expected.Dump() == found.Dump()) return absl::OkStatus();
  return base::DataLoss("`{}` of the bill is {}, the record gives {}", place, found.Dump(),
                        expected.Dump());
}

}  // namespace

absl::StatusOr<JsonValue> BillOfMaterials(const AuditedRun& run) {
  constexpr uint64_t kYear9999 = 253402300799;
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees, AuditedGuarantees(run));
  JsonValue libraries = JsonValue::MakeArray();
  for (const Dependency& dependency : run.facts.dependencies) {
    libraries.Append(JsonValue::MakeObject()
                         .Set("type", "library")
                         .Set("name", dependency.name)
                         .Set("version", dependency.version));
  }
  JsonValue tools = JsonValue::MakeArray();
  tools.Append(JsonValue::MakeObject()
                   .Set("type", "application")
                   .Set("name", "tacet")
                   .Set("version", run.facts.version));
  JsonValue metadata = JsonValue::MakeObject();
  if (run.facts.created <= kYear9999) {
    metadata.Set("timestamp",
                 fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                             fmt::gmtime(static_cast<std::time_t>(run.facts.created))));
  }
  metadata.Set("tools", JsonValue::MakeObject().Set("components", std::move(tools)))
      .Set("component", ModelOf(run, guarantees));
  return JsonValue::MakeObject()
      .Set("bomFormat", "CycloneDX")
      .Set("specVersion", "1.6")
      .Set("version", 1)
      .Set("metadata", std::move(metadata))
      .Set("components", std::move(libraries));
}

absl::StatusOr<std::vector<std::string>> CheckBillOfMaterials(std::string_view text,
                                                              const AuditedRun& run) {
  TACET_ASSIGN_OR_RETURN(const JsonValue found, JsonValue::Parse(text));
  TACET_ASSIGN_OR_RETURN(const JsonValue expected, BillOfMaterials(run));
  std::vector<std::string> added;
  TACET_RETURN_IF_ERROR(CheckHolds(expected, found, "", added));
  return added;
}

}  // namespace tacet::audit
