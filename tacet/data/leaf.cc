#include "tacet/data/leaf.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/data/data_files.h"

namespace tacet::data {
namespace {

constexpr double kMaxLabel = (uint32_t{1} << 20) - 1;
constexpr int kMaxDepth = 32;  // of values that are skipped

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

struct LeafReader::State {
  std::vector<float> features;
  size_t inputs = 0;  // of a sample; 0: no sample yet
  std::unordered_map<std::string, uint32_t> clients;
  DatasetSpec spec;
};

// One document. Every method leaves the position behind what it has read.
class LeafReader::Parser {
 public:
  Parser(std::string_view text, std::string_view name, State& state)
      : text_(text), name_(name), state_(state) {}

  absl::Status Document();

 private:
  absl::Status Error(std::string_view what) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = 1 + std::ranges::count(before, '\n');
    const size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    return base::InvalidArgument("{}:{}:{}: {}", name_, line, column, what);
  }
  void SkipBlanks() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }
  bool Take(char c) {
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  absl::Status Expect(char c) {
    return Take(c) ? absl::OkStatus() : Error(fmt::format("expected '{}'", c));
  }

  absl::StatusOr<std::string> String();
  absl::StatusOr<double> Number();
  // Calls item() before each element of an array.
  template <typename Item>
  absl::Status Array(const Item& item);
  // Calls member(name) before each value of an object; a name twice is refused.
  template <typename Member>
  absl::Status Object(const Member& member);
  absl::Status Skip(int depth);
  absl::Status User(const std::string& user);
  absl::Status Sample();
  absl::Status CheckUsers();

  std::string_view text_;
  std::string_view name_;
  State& state_;
  size_t at_ = 0;
  std::vector<std::string> users_;
  std::vector<double> counts_;
  std::map<std::string, uint64_t> read_;  // samples of each user of user_data
};

absl::StatusOr<std::string> LeafReader::Parser::String() {
  TACET_RETURN_IF_ERROR(Expect('"'));
  std::string value;
  while (true) {
    if (at_ == text_.size()) return Error("a string does not end");
    const char c = text_[at_];
    if (static_cast<unsigned char>(c) < ' ') return Error("a control character in a string");
    ++at_;
    if (c == '"') return value;
    value.push_back(c);
    // An escape stays as written: names need to be told apart, not shown.
    if (c == '\\' && at_ < text_.size()) value.push_back(text_[at_++]);
  }
}

absl::StatusOr<double> LeafReader::Parser::Number() {
  SkipBlanks();
  double value = 0;
  const char* first = text_.data() + at_;
  const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
  if (error != std::errc() || !std::isfinite(value) || !std::isfinite(static_cast<float>(value))) {
    return Error("expected a finite number");
  }
  at_ += static_cast<size_t>(end - first);
  return value;
}

template <typename Item>
absl::Status LeafReader::Parser::Array(const Item& item) {
  TACET_RETURN_IF_ERROR(Expect('['));
  if (Take(']')) return absl::OkStatus();
  do {
    TACET_RETURN_IF_ERROR(item());
  } while (Take(','));
  return Expect(']');
}

template <typename Member>
absl::Status LeafReader::Parser::Object(const Member& member) {
  TACET_RETURN_IF_ERROR(Expect('{'));
  if (Take('}')) return absl::OkStatus();
  do {
    TACET_ASSIGN_OR_RETURN(const std::string name, String());
    TACET_RETURN_IF_ERROR(Expect(':'));
    TACET_RETURN_IF_ERROR(member(name));
  } while (Take(','));
  return Expect('}');
}

absl::Status LeafReader::Parser::Skip(int depth) {
  if (depth > kMaxDepth) return Error("values are nested too deep");
  SkipBlanks();
  if (at_ == text_.size()) return Error("expected a value");
  const char c = text_[at_];
  if (c == '[') return Array([&] { return Skip(depth + 1); });
  if (c == '{') return Object([&](const std::string&) { return Skip(depth + 1); });
  if (c == '"') return String().status();
  for (const std::string_view word : {"true", "false", "null"}) {
    if (text_.substr(at_).starts_with(word)) {
      at_ += word.size();
      return absl::OkStatus();
    }
  }
  return Number().status();
}

absl::Status LeafReader::Parser::Sample() {
  const size_t before = state_.features.size();
  TACET_RETURN_IF_ERROR(Array([&]() -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const double value, Number());
    state_.features.push_back(static_cast<float>(value));
    return absl::OkStatus();
  }));
  const size_t inputs = state_.features.size() - before;
  if (inputs == 0) return Error("a sample without inputs");
  if (state_.inputs == 0) state_.inputs = inputs;
  if (inputs != state_.inputs) {
    return Error(fmt::format("a sample of {} inputs where others have {}", inputs, state_.inputs));
  }
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::User(const std::string& user) {
  if (read_.contains(user)) return Error(fmt::format("user \"{}\" is there twice", user));
  uint64_t samples = 0;
  uint64_t labels = 0;
  bool seen_x = false;
  bool seen_y = false;
  TACET_RETURN_IF_ERROR(Object([&](const std::string& member) -> absl::Status {
    if (member == "x" && !seen_x) {
      seen_x = true;
      return Array([&] {
        ++samples;
        return Sample();
      });
    }
    if (member == "y" && !seen_y) {
      seen_y = true;
      return Array([&]() -> absl::Status {
        TACET_ASSIGN_OR_RETURN(const double label, Number());
        if (!(label >= 0 && label <= kMaxLabel && label == std::floor(label))) {
          return Error(
              fmt::format("{} is not a class: a whole number from 0 to {}", label, kMaxLabel));
        }
        state_.spec.labels.push_back(static_cast<uint32_t>(label));
        ++labels;
        return absl::OkStatus();
      });
    }
    if (member == "x" || member == "y") {
      return Error(fmt::format("user \"{}\" has \"{}\" twice", user, member));
    }
    return Skip(0);
  }));
  if (samples != labels) {
    return Error(fmt::format("user \"{}\" has {} inputs and {} labels", user, samples, labels));
  }
  const auto [entry, fresh] =
      state_.clients.try_emplace(user, static_cast<uint32_t>(state_.clients.size()));
  if (fresh) state_.spec.client_names.push_back(user);
  state_.spec.sample_clients.insert(state_.spec.sample_clients.end(), samples, entry->second);
  read_.emplace(user, samples);
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::CheckUsers() {
  const auto disagree = [&](const std::string& what) {
    return base::InvalidArgument("{}: {}", name_, what);
  };
  if (counts_.size() != users_.size() || read_.size() != users_.size()) {
    return disagree(fmt::format("{} users, {} entries of num_samples and data of {} users",
                                users_.size(), counts_.size(), read_.size()));
  }
  for (size_t i = 0; i < users_.size(); ++i) {
    const auto found = read_.find(users_[i]);
    if (found == read_.end()) return disagree(fmt::format("user \"{}\" has no data", users_[i]));
    if (static_cast<double>(found->second) != counts_[i]) {
      return disagree(fmt::format("user \"{}\" has {} samples, num_samples says {}", users_[i],
                                  found->second, counts_[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::Document() {
  bool seen[3] = {false, false, false};
  TACET_RETURN_IF_ERROR(Object([&](const std::string& member) -> absl::Status {
    const int which = member == "users"         ? 0
                      : member == "num_samples" ? 1
                      : member == "user_data"   ? 2
                                                : -1;
    if (which < 0) return Skip(0);
    if (std::exchange(seen[which], true)) return Error(fmt::format("\"{}\" twice", member));
    if (which == 0) {
      return Array([&]() -> absl::Status {
        TACET_ASSIGN_OR_RETURN(users_.emplace_back(), String());
        return absl::OkStatus();
      });
    }
    if (which == 1) {
      return Array([&]() -> absl::Status {
        TACET_ASSIGN_OR_RETURN(counts_.emplace_back(), Number());
        return absl::OkStatus();
      });
    }
    return Object([&](const std::string& user) { return User(user); });
  }));
  SkipBlanks();
  if (at_ != text_.size()) return Error("something follows the document");
  return CheckUsers();
}

LeafReader::LeafReader() : state_(std::make_unique<State>()) {}
LeafReader::~LeafReader() = default;

absl::Status LeafReader::Add(std::string_view text, std::string_view name) {
  return Parser(text, name, *state_).Document();
}

absl::StatusOr<Dataset> LeafReader::Finish(std::string_view name) {
  State& state = *state_;
  if (state.spec.labels.empty()) return base::InvalidArgument("{}: there are no samples", name);
  state.spec.name = std::string(name);
  const auto side = static_cast<uint64_t>(std::llround(std::sqrt(state.inputs)));
  state.spec.input_shape = side >= 4 && side * side == state.inputs
                               ? std::vector<uint64_t>{side, side}
                               : std::vector<uint64_t>{state.inputs};
  state.spec.features = std::move(state.features);
  state.spec.classes = *std::ranges::max_element(state.spec.labels) + 1;
  return Dataset::Create(std::move(state.spec));
}

absl::StatusOr<std::vector<std::filesystem::path>> LeafFiles(const std::filesystem::path& path) {
  return DataFiles(path, {".json"});
}

bool HoldsLeaf(const std::filesystem::path& path) {
  const auto files = LeafFiles(path);
  return files.ok() && !files->empty();
}

absl::StatusOr<Dataset> LoadLeaf(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, LeafFiles(path));
  if (files.empty()) return base::NotFound("{}: no file ending in .json", path.string());
  LeafReader reader;
  for (const std::filesystem::path& file : files) {
    TACET_ASSIGN_OR_RETURN(const std::string text, ReadDataFile(file));
    TACET_RETURN_IF_ERROR(reader.Add(text, file.string()));
  }
  return reader.Finish(path.string());
}

}  // namespace tacet::data
