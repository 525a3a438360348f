#include "tacet/config/configuration_words.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/config/run_config.h"

namespace tacet::config {
namespace {

// Names of the library that differ from their keys.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"held_out_share", "data.held_out"}, {"without_noise", "run.no_noise"}};

// Ordinary words, which are a key's name only where they are the subject.
constexpr std::string_view kSubjects[] = {
    "training.batch", "data.classes",        "federation.cohort",  "privacy.colluders",
    "privacy.delta",  "model.federated",     "federation.rounds",  "privacy.sampler",
    "privacy.scale",  "federation.sampling", "federation.weights",
};

std::string_view NameOf(std::string_view key) { return key.substr(key.find('.') + 1); }

// The key that `word` names; itself when there is none.
std::string_view KeyOf(std::string_view word, bool is_subject) {
  for (const auto& [name, key] : kOtherNames) {
    if (word == name) return key;
  }
  if (word.find('_') != word.npos) {
    static const std::vector<std::string_view> keys = ConfigurationKeys();
    const auto found = std::ranges::find(keys, word, NameOf);
    if (found != keys.end()) return *found;
  }
  if (!is_subject) return word;
  const auto found = std::ranges::find(kSubjects, word, NameOf);
  return found == std::end(kSubjects) ? word : *found;
}

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ||
         c == '`' || (c >= 'A' && c <= 'Z') || c == '/';
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
    text += KeyOf(std::string_view(message).substr(at, end - at), at == 0);
    at = end;
  }
  return absl::Status(status.code(), text);
}

}  // namespace tacet::config
