#include "tacet/data/leaf.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tacet/base/json_events.h"
#include "tacet/base/status.h"
#include "tacet/data/data_files.h"

namespace tacet::data {
namespace {

constexpr int kMaxDepth = 32;  // of values that are skipped

}  // namespace

struct LeafReader::State {
  std::vector<float> features;
  size_t inputs = 0;  // of a sample; 0: no sample yet
  std::unordered_map<std::string, uint32_t> clients;
  DatasetSpec spec;
};

// One document.
class LeafReader::Parser final : public base::JsonEvents {
 public:
  Parser(std::string_view text, std::string_view name, State& state)
      : text_(text), name_(name), state_(state) {}

  absl::Status Document();

 private:
  // The part that is, or is to come, at a place of a document.
  enum class Part {
    kDocument,
    kUsers,
    kUserName,
    kCounts,
    kCount,
    kUserData,
    kUser,
    kInputs,
    kSample,
    kInput,
    kLabels,
    kLabel,
    kOther,  // skipped
  };
  // The message where something else is there.
  static std::string_view Wanted(Part part);
  // Elements of an array.
  static Part ElementOf(Part array);

  // A user of user_data at whose members the document is.
  struct User {
    std::string name;
    size_t first_feature = 0;  // of the sample at hand
    uint64_t samples = 0;
    uint64_t labels = 0;
    bool has_x = false;
    bool has_y = false;
  };

  absl::Status BeginObject() override { return Open("expected '{'"); }
  absl::Status BeginArray() override { return Open("expected '['"); }
  absl::Status EndObject() override { return Close(); }
  absl::Status EndArray() override { return Close(); }
  absl::Status Key(std::string_view name) override;
  absl::Status String(std::string_view value) override;
  absl::Status Number(double value) override;
  absl::Status Word() override { return Other(); }

  // The value that comes next.
  Part Next() const {
    return next_.value_or(open_.empty() ? Part::kDocument : ElementOf(open_.back()));
  }
  absl::Status Open(std::string_view kind);
  // A value that only means something where it is skipped.
  absl::Status Other() {
    const Part part = Next();
    next_.reset();
    return part == Part::kOther ? absl::OkStatus() : Error(Wanted(part));
  }
  absl::Status Close();
  absl::Status Member(bool& seen, std::string_view name, Part part);
  absl::Status EndSample();
  absl::Status EndUser();
  absl::Status CheckUsers() const;
  absl::Status Error(std::string_view what) {
    has_told_ = true;
    const std::string_view before = text_.substr(0, position);
    const auto line = 1 + std::ranges::count(before, '\n');
    const size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    return base::InvalidArgument("{}:{}:{}: {}", name_, line, column, what);
  }

  std::string_view text_;
  std::string_view name_;
  State& state_;
  std::vector<Part> open_;    // objects and arrays, the innermost last
  std::optional<Part> next_;  // the value of the key that was read
  bool has_ended_ = false;    // the document
  bool has_told_ = false;     // an error
  struct Members {
    bool users = false, counts = false, data = false;
  };
  Members seen_;  // of the document
  std::vector<std::string> users_;
  std::vector<double> counts_;
  User user_;
  std::map<std::string, uint64_t> read_;  // samples of each user of user_data
};

std::string_view LeafReader::Parser::Wanted(Part part) {
  switch (part) {
    case Part::kDocument:
    case Part::kUserData:
    case Part::kUser:
      return "expected '{'";
    case Part::kUsers:
    case Part::kCounts:
    case Part::kInputs:
    case Part::kSample:
    case Part::kLabels:
      return "expected '['";
    case Part::kUserName:
      return "expected '\"'";
    case Part::kCount:
    case Part::kInput:
    case Part::kLabel:
      return "expected a finite number";
    case Part::kOther:
      return "expected a value";
  }
  return "";
}

LeafReader::Parser::Part LeafReader::Parser::ElementOf(Part array) {
  switch (array) {
    case Part::kUsers:
      return Part::kUserName;
    case Part::kCounts:
      return Part::kCount;
    case Part::kInputs:
      return Part::kSample;
    case Part::kSample:
      return Part::kInput;
    case Part::kLabels:
      return Part::kLabel;
    default:
      return Part::kOther;
  }
}

absl::Status LeafReader::Parser::Open(std::string_view kind) {
  const Part part = Next();
  next_.reset();
  if (part != Part::kOther && Wanted(part) != kind) return Error(Wanted(part));
  if (std::ranges::count(open_, Part::kOther) > kMaxDepth) {
    return Error("values are nested too deep");
  }
  open_.push_back(part);
  if (part == Part::kSample) user_.first_feature = state_.features.size();
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::Close() {
  const Part part = open_.back();
  open_.pop_back();
  has_ended_ = open_.empty();
  if (part == Part::kSample) return EndSample();
  if (part == Part::kUser) return EndUser();
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::Member(bool& seen, std::string_view name, Part part) {
  if (std::exchange(seen, true)) {
    return Error(part == Part::kInputs || part == Part::kLabels
                     ? fmt::format("user \"{}\" has \"{}\" twice", user_.name, name)
                     : fmt::format("\"{}\" twice", name));
  }
  next_ = part;
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::Key(std::string_view name) {
  switch (open_.back()) {
    case Part::kDocument:
      if (name == "users") return Member(seen_.users, name, Part::kUsers);
      if (name == "num_samples") return Member(seen_.counts, name, Part::kCounts);
      if (name == "user_data") return Member(seen_.data, name, Part::kUserData);
      break;
    case Part::kUserData:
      // Names are shown in lines of their own.
      if (std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || c == 0x7f; })) {
        return Error("a control character in the name of a user");
      }
      user_ = {.name = std::string(name)};
      if (read_.contains(user_.name)) {
        return Error(fmt::format("user \"{}\" is there twice", name));
      }
      next_ = Part::kUser;
      return absl::OkStatus();
    case Part::kUser:
      if (name == "x") return Member(user_.has_x, name, Part::kInputs);
      if (name == "y") return Member(user_.has_y, name, Part::kLabels);
      break;
    default:
      break;
  }
  next_ = Part::kOther;
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::String(std::string_view value) {
  if (Next() != Part::kUserName) return Other();
  users_.emplace_back(value);
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::Number(double value) {
  const Part part = Next();
  next_.reset();
  if (part == Part::kInput) {
    const auto input = static_cast<float>(value);
    if (!std::isfinite(input)) return Error(Wanted(part));
    state_.features.push_back(input);
  } else if (part == Part::kLabel) {
    if (!(value >= 0 && value <= kMaxLabel && value == std::floor(value))) {
      return Error(fmt::format("{} is not a class: a whole number from 0 to {}", value, kMaxLabel));
    }
    state_.spec.labels.push_back(static_cast<uint32_t>(value));
    ++user_.labels;
  } else if (part == Part::kCount) {
    counts_.push_back(value);
  } else if (part != Part::kOther) {
    return Error(Wanted(part));
  }
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::EndSample() {
  ++user_.samples;
  const size_t inputs = state_.features.size() - user_.first_feature;
  if (inputs == 0) return Error("a sample without inputs");
  if (state_.inputs == 0) state_.inputs = inputs;
  if (inputs == state_.inputs) return absl::OkStatus();
  return Error(fmt::format("a sample of {} inputs where others have {}", inputs, state_.inputs));
}

absl::Status LeafReader::Parser::EndUser() {
  if (user_.samples != user_.labels) {
    return Error(fmt::format("user \"{}\" has {} inputs and {} labels", user_.name, user_.samples,
                             user_.labels));
  }
  const auto [entry, fresh] =
      state_.clients.try_emplace(user_.name, static_cast<uint32_t>(state_.clients.size()));
  if (fresh) state_.spec.client_names.push_back(user_.name);
  state_.spec.sample_clients.insert(state_.spec.sample_clients.end(), user_.samples, entry->second);
  read_.emplace(user_.name, user_.samples);
  return absl::OkStatus();
}

absl::Status LeafReader::Parser::CheckUsers() const {
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
  const absl::Status status = base::ReadJsonEvents(text_, *this);
  if (status.ok()) return CheckUsers();
  if (has_told_) return status;
  if (has_ended_) return Error("something follows the document");
  const std::string said(base::Message(status));
  return Error(said.starts_with("a string") ? said : std::string(Wanted(Next())));
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
