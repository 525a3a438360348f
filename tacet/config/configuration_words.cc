#include "tacet/config/configuration_words.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::config {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

constexpr std::array<Words, 22> kNames = {{
    {"appearances", "privacy.appearances"},
    {"budget_epsilon", "privacy.budget_epsilon"},
    {"clip_norm", "privacy.clip_norm"},
    {"coordinate_bound", "privacy.coordinate_bound"},
    {"dummy_uploads", "federation.dummy_uploads"},
    {"evaluate_every", "run.evaluate_every"},
    {"expected_batch", "privacy.expected_batch"},
    {"held_out_share", "data.held_out"},
    {"last_layer_gain", "model.last_layer_gain"},
    {"learning_rate", "training.learning_rate"},
    {"learning_rate_final", "training.learning_rate_final"},
    {"local_epochs", "training.local_epochs"},
    {"max_participations", "federation.max_participations"},
    {"min_participants", "federation.min_participants"},
    {"noise_multiplier", "privacy.noise_multiplier"},
    {"noise_stddev", "privacy.noise_stddev"},
    {"plaintext_bits", "aggregation.plaintext_bits"},
    {"record_rate", "privacy.record_rate"},
    {"sample_cap", "training.sample_cap"},
    {"spare_attempts", "federation.spare_attempts"},
    {"target_epsilon", "privacy.target_epsilon"},
    {"without_noise", "run.no_noise"},
}};

constexpr std::array<Words, 11> kSubjects = {{
    {"batch", "training.batch"},
    {"classes", "data.classes"},
    {"cohort", "federation.cohort"},
    {"colluders", "privacy.colluders"},
    {"delta", "privacy.delta"},
    {"federated", "model.federated"},
    {"rounds", "federation.rounds"},
    {"sampler", "privacy.sampler"},
    {"sampling", "federation.sampling"},
    {"scale", "privacy.scale"},
    {"weights", "federation.weights"},
}};

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ||
         c == '`' || (c >= 'A' && c <= 'Z') || c == '/';
}

template <size_t kSize>
std::optional<std::string_view> KeyOf(const std::array<Words, kSize>& table,
                                      std::string_view word) {
  for (const auto& [name, key] : table) {
    if (word == name) return key;
  }
  return std::nullopt;
}

}  // namespace

absl::Status InConfigurationWords(const absl::Status& status) {
  if (status.ok()) return status;
  const std::string message = base::Message(status);
  std::string text;
  for (size_t at = 0; at < message.size();) {
    size_t end = at;
    while (end < message.size() && IsNamePart(message[end])) ++end;
    if (end == at) {
      text += message[at++];
      continue;
    }
    const std::string_view word = std::string_view(message).substr(at, end - at);
    std::optional<std::string_view> key = KeyOf(kNames, word);
    if (!key.has_value() && at == 0) key = KeyOf(kSubjects, word);
    text += key.has_value() ? std::string(*key) : std::string(word);
    at = end;
  }
  return absl::Status(status.code(), text);
}

}  // namespace tacet::config
