#include "tacet/policy/site_policy.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::policy {
namespace {

using base::JsonValue;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The keys that every policy has.
constexpr std::string_view kNeeded = R"({
  "policy": {"sites": ["north"], "serial": 1},
  "privacy": {"epsilon_per_year": 2, "delta": 1e-5, "units": ["person", "record"]},
  "federation": {"min_participants": 3, "committee_seats": 3, "committee_corrupt": 1},
  "data": {"records": 500, "columns": ["age", "ill"]},
  "training": {"kinds": ["training"]},
  "ledger": {"folder": "/var/lib/tacet/ledger"}
})";

JsonValue Parsed(std::string_view text) { return *JsonValue::Parse(text); }

// `kNeeded` with one key set to a value in JSON.
absl::StatusOr<SitePolicy> With(const std::string& section, const std::string& name,
                                std::string_view value) {
  JsonValue root = Parsed(kNeeded);
  JsonValue changed = root.Find(section) == nullptr ? JsonValue::MakeObject() : *root.Find(section);
  changed.Set(name, Parsed(value));
  root.Set(section, std::move(changed));
  return ReadSitePolicy(root, "policy.toml");
}

std::string Refusal(const std::string& section, const std::string& name, std::string_view value) {
  const auto policy = With(section, name, value);
  EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument) << name << value;
  return base::Message(policy.status());
}

TEST(SitePolicyTest, NeededKeysAndDefaults) {
  ASSERT_OK_AND_ASSIGN(const auto policy, ReadSitePolicy(Parsed(kNeeded), "policy.toml"));
  EXPECT_THAT(policy.sites, ElementsAre("north"));
  EXPECT_EQ(policy.epsilon_per_year, 2);
  EXPECT_THAT(policy.columns, ElementsAre("age", "ill"));
  EXPECT_EQ(policy.smallest_unit(), accounting::Unit::kRecord);
  EXPECT_EQ(policy.neighbouring.size(), 2u);
  EXPECT_EQ(policy.noise_laws.size(), 2u);
  EXPECT_EQ(policy.ledger_folder, "/var/lib/tacet/ledger");
  EXPECT_FALSE(policy.rule.has_value());
  EXPECT_EQ(policy.population, "main");
}

TEST(SitePolicyTest, EveryNeededKeyIsMissed) {
  const JsonValue whole = Parsed(kNeeded);
  for (const auto& [section, content] : whole.members()) {
    for (const auto& [missing, value] : content.members()) {
      JsonValue root = JsonValue::MakeObject();
      for (const auto& [other_section, other] : whole.members()) {
        JsonValue kept = JsonValue::MakeObject();
        for (const auto& [name, member] : other.members()) {
          if (other_section != section || name != missing) kept.Set(name, member);
        }
        root.Set(other_section, std::move(kept));
      }
      const auto policy = ReadSitePolicy(root, "policy.toml");
      EXPECT_THAT(base::Message(policy.status()),
                  HasSubstr(fmt::format("policy.toml: key `{}.{}`: ", section, missing)));
    }
  }
}

// A limit with a mistyped name limits nothing.
TEST(SitePolicyTest, AnUnknownKeyIsRefused) {
  EXPECT_EQ(Refusal("privacy", "colluder", "1"),
            "policy.toml: unknown key `privacy.colluder`; `privacy.colluders` may be meant");
  EXPECT_EQ(Refusal("privacy", "zzzz", "1"), "policy.toml: unknown key `privacy.zzzz`");
  JsonValue root = Parsed(kNeeded);
  root.Set("serial", 1);
  EXPECT_THAT(base::Message(ReadSitePolicy(root, "policy.toml").status()),
              HasSubstr("unknown key `serial` (every key is in a section)"));
}

TEST(SitePolicyTest, ValuesOutOfRangeAreRefused) {
  EXPECT_EQ(Refusal("policy", "serial", "0"),
            "policy.toml: key `policy.serial`: must be 1 or more");
  EXPECT_THAT(Refusal("privacy", "epsilon_per_year", "0"), HasSubstr("must be a positive number"));
  EXPECT_THAT(Refusal("privacy", "delta", "1"), HasSubstr("must be above 0 and below 1"));
  EXPECT_THAT(Refusal("privacy", "units", "[]"), HasSubstr("is not a list of one or more"));
  EXPECT_THAT(Refusal("privacy", "units", "[\"ward\"]"), HasSubstr("unknown unit \"ward\""));
  EXPECT_THAT(Refusal("privacy", "neighbouring", "[\"none\"]"), HasSubstr("unknown neighbouring"));
  EXPECT_THAT(Refusal("privacy", "noise_laws", "[\"laplace\"]"),
              HasSubstr("unknown noise law \"laplace\": expected gaussian or discrete-laplace"));
  EXPECT_THAT(Refusal("federation", "committee_seats", "4294967296"), HasSubstr("below 2^32"));
  EXPECT_THAT(Refusal("federation", "dummy_uploads", "1"), HasSubstr("federation.dummy_uploads"));
  EXPECT_THAT(Refusal("data", "records", "-5"), HasSubstr("data.records"));
  EXPECT_THAT(Refusal("data", "columns", "\"age\""), HasSubstr("is not a list"));
  EXPECT_THAT(Refusal("training", "kinds", "[\"trainings\"]"),
              HasSubstr("must be a list of \"training\" and \"query\""));
  EXPECT_THAT(Refusal("query", "kinds", "[]"), HasSubstr("is not a list of one or more"));
  EXPECT_THAT(Refusal("query", "floor", "-1"), HasSubstr("must be a number that is not negative"));
  EXPECT_THAT(Refusal("ledger", "rule", "\"none\""), HasSubstr("unknown charging rule"));
  EXPECT_THAT(Refusal("policy", "successor", "\"12\""), HasSubstr("64 hexadecimal digits"));
  // Another folder, or the same name in another current one, would be another budget.
  for (const char* const folder : {"\"\"", "\"ledger\"", "\"./ledger\""}) {
    EXPECT_THAT(Refusal("ledger", "folder", folder), HasSubstr("must be an absolute path"));
  }
}

// That a table is about other people is said twice: by a name, and in so many words.
TEST(SitePolicyTest, AnotherPopulationIsDeclaredInFull) {
  const auto read = [](std::string_view population, std::string_view others) {
    JsonValue ledger = JsonValue::MakeObject().Set("folder", "/ledger");
    if (!population.empty()) ledger.Set("population", population);
    if (!others.empty()) ledger.Set("others", others == "true");
    JsonValue root = Parsed(kNeeded);
    root.Set("ledger", std::move(ledger));
    return ReadSitePolicy(root, "policy.toml");
  };
  EXPECT_EQ(read("staff-2026", "true")->population, "staff-2026");
  EXPECT_EQ(read("", "false")->population, "main");
  for (const auto& [population, others] :
       {std::pair("staff", ""), std::pair("staff", "false"), std::pair("", "true")}) {
    EXPECT_THAT(base::Message(read(population, others).status()),
                HasSubstr("policy.toml: key `ledger.others`: must be true with ledger.population"));
  }
  EXPECT_THAT(base::Message(read("main", "true").status()), HasSubstr("the folder's own"));
  EXPECT_THAT(base::Message(read("../main", "true").status()), HasSubstr("lower-case letters"));
}

// A coordinator alone would decide about a limit that is left open.
TEST(SitePolicyTest, APolicyThatAcceptsStatesEveryLimit) {
  const auto read = [](const std::vector<std::string>& lines) {
    JsonValue root = Parsed(kNeeded);
    for (const std::string& line : lines) {
      const size_t point = line.find('.'), blank = line.find(' ');
      const std::string section = line.substr(0, point);
      JsonValue changed =
          root.Find(section) == nullptr ? JsonValue::MakeObject() : *root.Find(section);
      changed.Set(line.substr(point + 1, blank - point - 1), Parsed(line.substr(blank + 1)));
      root.Set(section, std::move(changed));
    }
    return ReadSitePolicy(root, "policy.toml");
  };
  const std::vector<std::string> all = {"acceptance.accept \"within-policy\"",
                                        "acceptance.kinds [\"training\", \"query\"]",
                                        "privacy.neighbouring [\"replace-one\"]",
                                        "privacy.noise_laws [\"gaussian\"]",
                                        "privacy.colluders 1",
                                        "privacy.appearances 2",
                                        "data.person_column \"patient\"",
                                        "query.kinds [\"count\"]",
                                        "query.floor 10",
                                        "query.site_groups false"};
  ASSERT_OK_AND_ASSIGN(const auto policy, read(all));
  EXPECT_THAT(policy.accepted_kinds, ElementsAre(ChangeKind::kTraining, ChangeKind::kQuery));
  EXPECT_FALSE(policy.accepted_epsilon.has_value());
  EXPECT_EQ(policy.unknown_members, 0u);
  for (size_t missing = 1; missing < all.size(); ++missing) {
    std::vector<std::string> lines = all;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_THAT(base::Message(read(lines).status()),
                HasSubstr(fmt::format("key `{}`", all[missing].substr(0, all[missing].find(' ')))));
  }
  // Units decide which limits there are.
  std::vector<std::string> clients = {all[0], "acceptance.kinds [\"renewal\"]", all[2], all[3],
                                      all[4], "privacy.units [\"client\"]"};
  EXPECT_THAT(base::Message(read(clients).status()), HasSubstr("`federation.dummy_uploads`"));
  clients.push_back("federation.dummy_uploads false");
  EXPECT_TRUE(read(clients).ok());
}

TEST(SitePolicyTest, APolicyAsksUnlessItSaysOtherwise) {
  EXPECT_THAT(ReadSitePolicy(Parsed(kNeeded), "policy.toml")->accepted_kinds, ::testing::IsEmpty());
  EXPECT_THAT(With("acceptance", "kinds", "[\"training\"]")->accepted_kinds, ::testing::IsEmpty());
  EXPECT_THAT(Refusal("acceptance", "accept", "\"always\""),
              HasSubstr("must be \"ask\" or \"within-policy\""));
  EXPECT_THAT(Refusal("acceptance", "kinds", "[\"trainings\"]"),
              HasSubstr("expected training, query, removal, server, renewal or "
                        "addition"));
  EXPECT_THAT(Refusal("acceptance", "epsilon", "0"), HasSubstr("must be a positive number"));
}

TEST(SitePolicyTest, OptionalKeys) {
  EXPECT_EQ(With("ledger", "rule", "\"own-seals\"")->rule, ledger::ChargingRule::kOwnSeals);
  EXPECT_EQ(With("policy", "successor", "\"" + std::string(64, '7') + "\"")->successor->front(),
            0x77);
  EXPECT_TRUE(With("federation", "dummy_uploads", "true")->dummy_uploads);
  EXPECT_THAT(With("query", "kinds", "[\"count\"]")->question_kinds, ElementsAre("count"));
  EXPECT_EQ(With("query", "floor", "7.5")->floor, 7.5);
  EXPECT_FALSE(With("query", "site_groups", "false")->site_groups);
  EXPECT_EQ(With("privacy", "units", "[\"client\"]")->smallest_unit(), accounting::Unit::kClient);
}

}  // namespace
}  // namespace tacet::policy
