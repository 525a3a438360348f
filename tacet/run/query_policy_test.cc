// Attacks on a site's policy through the text of a query and through the terms agreed next to it.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/config/agreement_protection_for_test.h"
#include "tacet/config/policy_file.h"
#include "tacet/policy/permission.h"
#include "tacet/run/configured_simulation.h"
#include "tacet/run/query_run.h"
#include "tacet/statistics/query_learner.h"

namespace tacet::run {
namespace {

using base::JsonValue;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kMembers = 5;

// Every place of a query file that can name a column has one.
constexpr std::string_view kQuestions = R"(
name = "hospitals"
floor = 10
confidence = 0.95
[data]
person_column = "patient"
missing = ["", "?"]
values = ["sex one-of=f,m"]
decimal = "point"
[privacy]
unit = "person"
neighbouring = "replace-one"
target_epsilon = 1.0
delta = 1e-6
colluders = 1
appearances = 2
spare_attempts = 1
max_units = 1000
rows_per_unit = 2
[[question]]
name = "women"
kind = "count"
where = ["sex = f"]
[[question]]
name = "age"
kind = "mean"
column = "age"
low = 20
high = 100
[[question]]
name = "scales"
kind = "normalise"
columns = ["age 20..100"]
[[question]]
name = "pairs"
kind = "crosstab"
rows = { column = "sex", categories = ["f", "m"] }
columns = { column = "died", categories = [0, 1] }
[[question]]
name = "survival"
kind = "survival"
time = "days"
low = 0
high = 1500
bins = 5
event = "died"
event_value = 1
group = "sex"
groups = ["f", "m"]
[[question]]
name = "model"
kind = "evaluation"
score = "risk"
bins = 10
label = "disease"
positive = 1
threshold = 0.5
group = "sex"
groups = ["f", "m"]
[[question]]
name = "illness"
kind = "regression"
columns = ["age 20..100"]
label = "disease"
positive = 1
[[question]]
name = "smokers"
kind = "proportion"
column = "smokes"
positive = 1
group = "arm"
groups = ["drug", "placebo"]
[[question]]
name = "baseline"
kind = "table1"
columns = ["weight 30..200", "sex"]
group = "arm"
groups = ["drug", "placebo"]
[[question]]
name = "weights"
kind = "glm"
formula = "weight ~ age + sex"
columns = ["weight 30..200", "age 20..100", "sex"]
)";

const std::set<std::string>& AllowedColumns() {
  static const std::set<std::string> columns = {"patient", "age",     "sex",    "days", "died",
                                                "risk",    "disease", "smokes", "arm",  "weight"};
  return columns;
}
const std::set<std::string>& AllowedKinds() {
  static const std::set<std::string> kinds = {"count",      "mean",       "normalise",  "crosstab",
                                              "survival",   "evaluation", "regression", "table1",
                                              "proportion", "glm"};
  return kinds;
}

// A value of a TOML file in one line; tables are inline.
std::string InlineToml(const JsonValue& value) {
  std::string text;
  if (value.is_array()) {
    for (const JsonValue& item : value.items()) text += InlineToml(item) + ", ";
    return "[" + text + "]";
  }
  if (!value.is_object()) return value.Dump();
  for (const auto& [key, member] : value.members()) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, InlineToml(member));
  }
  return "{" + text + "}";
}
std::string QueryText(const JsonValue& root) {
  std::string text;
  for (const auto& [key, value] : root.members()) {
    text += fmt::format("{} = {}\n", key, InlineToml(value));
  }
  return text;
}

absl::StatusOr<agreement::Manifest> ManifestOf(const config::RunConfig& config) {
  TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded,
                         config::ParseQuery(config.query.text, "query"));
  TACET_ASSIGN_OR_RETURN(const simulation::SimulationSpec simulated, run::SimulationSpecOf(config));
  agreement::ManifestSpec spec = simulated.manifest;
  spec.dimension = loaded.query->dimension();
  spec.sampling.clients = kMembers;
  if (spec.sampling.cohort == 0) spec.sampling.cohort = kMembers;
  spec.members.resize(kMembers);
  return agreement::Manifest::Create(std::move(spec));
}

absl::StatusOr<config::RunConfig> ConfigOf(const std::string& text) {
  TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded, config::ParseQuery(text, "query"));
  return AgreedQueryConfig(loaded, kMembers);
}
config::RunConfig BaseConfig() { return base::ValueOf(ConfigOf(std::string(kQuestions))); }

// Exactly as strong as the agreement about `kQuestions`.
policy::SitePolicy Equal() {
  const agreement::Manifest manifest = *ManifestOf(BaseConfig());
  const agreement::ManifestSpec& agreed = manifest.spec();
  return {
      .sites = {"north"},
      .serial = 1,
      .epsilon_per_year = agreement::GuaranteesOf(manifest, manifest.attempt_budget())->epsilon(),
      .delta = agreed.privacy.delta,
      .units = {agreed.privacy.unit},
      .neighbouring = {agreed.privacy.neighbouring},
      .noise_laws = {agreed.mechanism.noise_law},
      .colluders = agreed.privacy.colluders,
      .appearances = agreed.sampling.appearances,
      .min_participants = agreed.sampling.min_participants,
      .committee_seats = agreed.committee.seats,
      .committee_corrupt = agreed.committee.corrupt,
      .committee_packing = agreed.committee.packing,
      .records = 500,
      .columns = {AllowedColumns().begin(), AllowedColumns().end()},
      .person_column = "patient",
      .kinds = {"query"},
      .question_kinds = {AllowedKinds().begin(), AllowedKinds().end()},
      .floor = 10,
      .site_groups = false};
}

// The findings of a member before it charges: keys of the policy that refuse, "terms" where the
// agreement does not answer the query, "unsigned" where nobody can sign it.
std::vector<std::string> RefusedBy(const policy::SitePolicy& policy,
                                   const config::RunConfig& config,
                                   std::vector<std::string>* texts = nullptr) {
  const auto loaded = config::ParseQuery(config.query.text, "query");
  const auto manifest = ManifestOf(config);
  const auto use = config::DataUseOf(config, "north", 500);
  if (!loaded.ok() || !manifest.ok() || !use.ok()) return {"unsigned"};
  if (!tacet::statistics::CheckQueryTerms(*loaded->query, manifest->spec()).ok()) return {"terms"};
  const auto violations = base::ValueOf(policy::ViolationsOf(policy, *manifest, *use));
  std::vector<std::string> keys;
  for (const policy::Violation& violation : violations) {
    keys.push_back(violation.key);
    if (texts != nullptr) texts->push_back(violation.text);
  }
  return keys;
}

// Columns that a query file names, by the words of its format alone.
void CollectColumns(const JsonValue& value, std::string_view key, std::set<std::string>& columns) {
  static const std::set<std::string_view> naming = {
      "column", "time", "event", "score", "label", "group", "person_column", "site_column"};
  const auto add = [&](const std::string& text) { columns.insert(text.substr(0, text.find(' '))); };
  if (value.is_object()) {
    for (const auto& [name, member] : value.members()) CollectColumns(member, name, columns);
  } else if (value.is_array()) {
    for (const JsonValue& item : value.items()) {
      if (item.is_object()) CollectColumns(item, "", columns);
      if (item.is_string() && (key == "where" || key == "columns" || key == "values"))
        add(*item.AsString());
    }
  } else if (value.is_string() && naming.contains(key) && !value.AsString()->empty()) {
    columns.insert(*value.AsString());
  }
}

// The requests of a query's text beyond the policy; empty: none.
std::string ForbiddenIn(const JsonValue& root) {
  std::set<std::string> columns;
  CollectColumns(root, "", columns);
  if (!std::ranges::includes(AllowedColumns(), columns)) return "columns";
  const JsonValue* data = root.Find("data");
  if (data->Find("columns") != nullptr && !data->Find("columns")->items().empty()) return "renamed";
  if (data->Find("person_column") == nullptr ||
      *data->Find("person_column")->AsString() != "patient") {
    return "persons";
  }
  for (const JsonValue& question : root.Find("question")->items()) {
    if (!AllowedKinds().contains(*question.Find("kind")->AsString())) return "kinds";
  }
  for (const JsonValue& question : root.Find("question")->items()) {
    if (question.Find("sites") != nullptr && !question.Find("sites")->items().empty()) {
      return "site groups";
    }
  }
  const JsonValue* floor = root.Find("floor");
  return floor == nullptr || *floor->AsDouble() < 10 ? "floor" : "";
}

// `root` with one value replaced at each place in turn, or with a key more in each question.
std::vector<std::pair<std::string, JsonValue>> MutatedQueries(const JsonValue& root) {
  std::vector<std::pair<std::string, JsonValue>> all;
  const auto texts = [](const JsonValue& value) {
    std::vector<JsonValue> others;
    if (value.is_string()) {
      for (const auto* text : {"", "age", "hiv", "sex", "record", "client", "zero-out", "sum",
                               "histogram", "count", "comma"}) {
        others.emplace_back(text);
      }
    } else if (value.is_number()) {
      for (const double number : {0.0, 1.0, 2.0, 0.5, 9.99, 11.0, 1e-7, 1e-3, 1e6}) {
        others.emplace_back(number);
      }
    } else if (value.is_array() && (value.items().empty() || !value.items()[0].is_object())) {
      for (const auto* text : {"hiv", "hiv = 1", "hiv 0..1", "age 20..100", "sex != m"}) {
        JsonValue longer = value, alone = JsonValue::MakeArray();
        others.push_back(longer.Append(text));
        others.push_back(alone.Append(text));
      }
    }
    return others;
  };
  const auto change_members = [&](const JsonValue& table, const std::string& name, auto put) {
    for (const auto& [key, value] : table.members()) {
      for (const JsonValue& other : texts(value)) {
        JsonValue changed = table;
        put(fmt::format("{}{} = {}", name, key, InlineToml(other)), changed.Set(key, other));
      }
      if (!value.is_object()) continue;
      for (const auto& [inner, leaf] : value.members()) {
        for (const JsonValue& other : texts(leaf)) {
          JsonValue inside = value, changed = table;
          inside.Set(inner, other);
          put(fmt::format("{}{}.{} = {}", name, key, inner, InlineToml(other)),
              changed.Set(key, std::move(inside)));
        }
      }
    }
  };
  change_members(root, "", [&](std::string what, JsonValue changed) {
    all.emplace_back(std::move(what), std::move(changed));
  });
  JsonValue more = *root.Find("data");
  for (const auto& [key, value] :
       {std::pair("columns", R"(["age"])"), std::pair("site_column", R"("hiv")")}) {
    JsonValue data = more, changed = root;
    data.Set(key, *JsonValue::Parse(value));
    all.emplace_back(fmt::format("data.{} = {}", key, value), changed.Set("data", std::move(data)));
  }
  const std::vector<JsonValue>& questions = root.Find("question")->items();
  const auto with_question = [&](size_t place, JsonValue question) {
    JsonValue list = JsonValue::MakeArray(), changed = root;
    for (size_t i = 0; i < questions.size(); ++i) list.Append(i == place ? question : questions[i]);
    if (place >= questions.size()) list.Append(std::move(question));
    return changed.Set("question", std::move(list));
  };
  for (size_t place = 0; place < questions.size(); ++place) {
    const std::string name = fmt::format("question[{}].", place);
    change_members(questions[place], name, [&](std::string what, JsonValue changed) {
      all.emplace_back(std::move(what), with_question(place, std::move(changed)));
    });
    JsonValue filtered = questions[place], grouped = questions[place], alone = questions[place];
    alone.Set("sites", *JsonValue::Parse(R"(["north"])"));
    all.emplace_back(name + "sites", with_question(place, std::move(alone)));
    filtered.Set("where", *JsonValue::Parse(R"(["hiv = 1"])"));
    grouped.Set("group", "hiv").Set("groups", *JsonValue::Parse("[0, 1]"));
    all.emplace_back(name + "where", with_question(place, std::move(filtered)));
    all.emplace_back(name + "group", with_question(place, std::move(grouped)));
  }
  // One more question among several of one release.
  for (const std::string_view question :
       {R"({"kind": "sum", "column": "age", "low": 0, "high": 100})",
        R"({"kind": "histogram", "column": "age", "edges": [0, 50, 100]})",
        R"({"kind": "quantiles", "column": "age", "edges": [0, 50, 100]})",
        R"({"kind": "variance", "column": "age", "low": 0, "high": 100})",
        R"({"kind": "mean", "column": "hiv", "low": 0, "high": 1})",
        R"({"kind": "count", "where": ["sex = f", "hiv = 1"]})", R"({"kind": "count"})"}) {
    JsonValue last = *JsonValue::Parse(question);
    last.Set("name", "last");
    all.emplace_back(fmt::format("last {}", question),
                     with_question(questions.size(), std::move(last)));
  }
  return all;
}

std::string WeakerTerms(const agreement::Manifest& manifest, const config::RunConfig& config,
                        const config::Protection& guaranteed,
                        const agreement::ManifestSpec& agreed) {
  config::Protection now = config::ProtectionOf(config, manifest, agreed);
  now.columns.clear();
  now.person_column = guaranteed.person_column;
  // Units give vectors of the norm 1, and all of them do.
  if (manifest.spec().mechanism.clip_norm < 1) return "clip norm";
  if (manifest.spec().sampling.record_rate < 1) return "rate";
  return config::WeakerThan(guaranteed, now);
}

class QueryPolicyTest : public ::testing::Test {
 protected:
  QueryPolicyTest() : agreed_(*ManifestOf(base_)) {
    guaranteed_ = config::ProtectionOf(base_, agreed_, agreed_.spec());
    guaranteed_.columns.clear();
  }

  const config::RunConfig base_ = BaseConfig();
  const policy::SitePolicy policy_ = Equal();
  const agreement::Manifest agreed_;
  config::Protection guaranteed_;
};

TEST_F(QueryPolicyTest, APolicyThatEqualsTheQueryAllowsIt) {
  EXPECT_THAT(RefusedBy(policy_, base_), IsEmpty());
}

// Each key of a query file in turn: what is weaker is refused, with the coordinator's own terms and
// with those of the harmless query; what is not is allowed.
TEST_F(QueryPolicyTest, NoTextOfAQueryReachesWhatIsForbidden) {
  const JsonValue root = *config::ParseToml(kQuestions, "query.toml");
  ASSERT_EQ(ForbiddenIn(root), "");
  size_t weaker = 0, allowed = 0;
  for (const auto& [what, changed] : MutatedQueries(root)) {
    const std::string text = QueryText(changed);
    const auto config = ConfigOf(text);
    if (!config.ok()) continue;  // no query
    config::RunConfig crafted = base_;
    crafted.query.text = text;
    const std::string forbidden = ForbiddenIn(changed);
    if (!forbidden.empty()) {
      EXPECT_THAT(RefusedBy(policy_, *config), Not(IsEmpty())) << what << ": " << forbidden;
      EXPECT_THAT(RefusedBy(policy_, crafted), Not(IsEmpty())) << what << ": " << forbidden;
      ++weaker;
      continue;
    }
    const auto manifest = ManifestOf(*config);
    if (!manifest.ok()) continue;  // nobody can sign it
    const std::string weak = WeakerTerms(*manifest, *config, guaranteed_, agreed_.spec());
    if (weak.empty()) {
      EXPECT_THAT(RefusedBy(policy_, *config), IsEmpty()) << what;
      ++allowed;
    } else {
      EXPECT_THAT(RefusedBy(policy_, *config), Not(IsEmpty())) << what << ": " << weak;
      ++weaker;
    }
  }
  EXPECT_GT(weaker, 60u);
  EXPECT_GT(allowed, 60u);
}

// Each key of the agreement next to an unchanged text.
TEST_F(QueryPolicyTest, NoTermBesideTheTextSwitchesAProtectionOff) {
  size_t weaker = 0;
  std::set<std::string> tried;
  for (const auto& [key, value] : config::KeysOf(base_)) {
    if (key == "query.text") continue;
    for (const JsonValue& other : config::Mutations(key, value)) {
      config::RunConfig config = base_;
      if (!config::SetKey(config, key, other).ok()) continue;
      tried.insert(key);
      if (!config::IsQuery(config)) continue;  // judged as a training
      const auto manifest = ManifestOf(config);
      if (!manifest.ok()) continue;  // nobody can sign it
      const std::string weak = WeakerTerms(*manifest, config, guaranteed_, agreed_.spec());
      if (weak.empty()) continue;
      EXPECT_THAT(RefusedBy(policy_, config), Not(IsEmpty()))
          << fmt::format("{} = {}: {}", key, other.Dump(), weak);
      ++weaker;
    }
  }
  EXPECT_GE(tried.size(), 30u);
  EXPECT_GT(weaker, 15u);
  // As a training it is judged by the columns of a training, which it does not name.
  config::RunConfig training = base_;
  training.model.name = "logistic";
  const auto use = config::DataUseOf(training, "north", 500);
  EXPECT_EQ(use->kind, policy::kTraining);
  EXPECT_FALSE(use->columns.has_value());
}

// Several changes of the text at once.
TEST_F(QueryPolicyTest, NorDoSeveralChangesTogether) {
  const JsonValue root = *config::ParseToml(kQuestions, "query.toml");
  std::mt19937 generator(1);
  size_t weaker = 0;
  for (int turn = 0; turn < 150; ++turn) {
    JsonValue changed = root;
    std::string what;
    for (int change = 0; change < 2; ++change) {
      const auto mutated = MutatedQueries(changed);
      const auto& chosen = mutated[generator() % mutated.size()];
      if (!ConfigOf(QueryText(chosen.second)).ok()) continue;
      what += chosen.first + ", ";
      changed = JsonValue(chosen.second);
    }
    const auto config = ConfigOf(QueryText(changed));
    if (!config.ok() || ForbiddenIn(changed).empty()) continue;
    EXPECT_THAT(RefusedBy(policy_, *config), Not(IsEmpty())) << what;
    ++weaker;
  }
  EXPECT_GT(weaker, 20u);
}

TEST_F(QueryPolicyTest, ARefusalNamesTheQuestion) {
  const auto refused = [&](std::string_view question) {
    std::vector<std::string> texts;
    const auto config = base::ValueOf(ConfigOf(std::string(kQuestions) + std::string(question)));
    const std::vector<std::string> keys = RefusedBy(policy_, config, &texts);
    EXPECT_THAT(keys, Contains(::testing::AnyOf("data.columns", "query.kinds", "query.floor")));
    return fmt::format("{}", fmt::join(texts, "; "));
  };
  EXPECT_THAT(refused("[[question]]\nname = \"x\"\nkind = \"evaluation\"\nscore = \"risk\"\n"
                      "bins = 2\nlabel = \"disease\"\npositive = 1\ngroup = \"hiv\"\n"
                      "groups = [0, 1]\n"),
              HasSubstr("the column \"hiv\", which question \"x\" reads, is not allowed"));
  EXPECT_THAT(refused("[[question]]\nname = \"x\"\nkind = \"histogram\"\ncolumn = \"age\"\n"
                      "edges = [0, 50, 100]\n"),
              HasSubstr("question \"x\" has the kind histogram, which is not allowed"));
  // No count stands behind a sum: a sum of ones over one patient would show a count of 1.
  EXPECT_THAT(refused("[[question]]\nname = \"x\"\nkind = \"sum\"\ncolumn = \"age\"\nlow = 0\n"
                      "high = 100\n"),
              AllOf(HasSubstr("question \"x\" has the kind sum, which is not allowed"),
                    HasSubstr("which knows no count that a floor could suppress")));
  policy::SitePolicy stricter = policy_;
  stricter.floor = 10.5;
  std::vector<std::string> texts;
  EXPECT_THAT(RefusedBy(stricter, base_, &texts), ElementsAre("query.floor"));
  EXPECT_EQ(texts[0], "floor is 10, at least 10.5 is required");
}

// Counts alone have discrete Laplace noise by default. An officer who fears those who decrypt
// a single update allows the Gaussian alone, whether the file names the law or not.
TEST_F(QueryPolicyTest, AnOfficerCanInsistOnGaussianNoise) {
  const auto refused = [&](std::string_view privacy) {
    return RefusedBy(policy_, base::ValueOf(ConfigOf(fmt::format(R"(
floor = 10
data = {{ person_column = "patient", values = ["sex one-of=f,m"] }}
[privacy]
unit = "person"
target_epsilon = 0.9
delta = 1e-6
colluders = 1
appearances = 2
{}
[[question]]
name = "women"
kind = "count"
where = ["sex = f"]
)",
                                                                 privacy))));
  };
  EXPECT_THAT(refused(""), ElementsAre("privacy.noise_laws"));
  EXPECT_THAT(refused("noise_law = \"discrete-laplace\""), ElementsAre("privacy.noise_laws"));
  EXPECT_THAT(refused("noise_law = \"gaussian\""), IsEmpty());
}

TEST_F(QueryPolicyTest, AMistypedKindIsNoLimit) {
  constexpr std::string_view kPolicy = R"(
policy = { sites = ["north"], serial = 1 }
privacy = { epsilon_per_year = 2.0, delta = 1e-5, units = ["record"] }
federation = { min_participants = 3, committee_seats = 3, committee_corrupt = 1 }
data = { records = 100, columns = ["age"] }
training = { kinds = ["query"] }
ledger = { folder = "/ledger" }
)";
  const auto with = [&](std::string_view query) {
    return config::ParseSitePolicy(fmt::format("{}query = {}\n", kPolicy, query), "policy.toml");
  };
  ASSERT_OK_AND_ASSIGN(const auto policy, with(R"({ kinds = ["count", "survival"], floor = 5 })"));
  EXPECT_THAT(policy.question_kinds, ElementsAre("count", "survival"));
  EXPECT_EQ(policy.floor, 5);
  EXPECT_THAT(
      base::Message(with(R"({ kinds = ["counts"] })").status()),
      HasSubstr("policy.toml: key `query.kinds`: unknown kind \"counts\": expected one of"));
  EXPECT_THAT(base::Message(with("{ floor = -1 }").status()),
              HasSubstr("policy.toml: key `query.floor`: must be a number that is not negative"));
  EXPECT_THAT(base::Message(with("{ flor = 5 }").status()),
              HasSubstr("`query.floor` may be meant"));
}

}  // namespace
}  // namespace tacet::run
