// `tacet audit` and `tacet report` of a query; its text and answers changed by someone without the
// run's key and by someone with it.
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/audit/audit_file.h"
#include "tacet/base/bytes.h"
#include "tacet/base/json.h"
#include "tacet/crypto/hash.h"
#include "tacet/run/audit_key.h"
#include "tests/integration/program_for_test.h"

namespace tacet::app {
namespace {

using base::JsonValue;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kWomenQuery = R"(name = "hospitals"
floor = 2
[data]
values = ["sex one-of=f,m"]
[privacy]
target_epsilon = 8.0
max_units = 100
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
name = "baseline"
kind = "table1"
columns = ["age 20..100"]
group = "sex"
)";

class QueryAuditTest : public ProgramTest {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(path_ / "tables");
    for (const char* site : {"north", "south", "west"}) {
      std::string table = "age,sex\n";
      for (int i = 0; i < 60; ++i) table += std::to_string(30 + i) + (i % 3 ? ",f\n" : ",m\n");
      WriteConfig(table, std::string("tables/") + site + ".csv");
    }
    const Outcome asked = Tacet({"statistics", WriteConfig(std::string(kWomenQuery), "asked.toml"),
                                 "--data", "tables", "--out", "run"});
    ASSERT_EQ(asked.exit_code, 0) << asked.err;
  }

  // Why the command refuses; empty when it does not.
  std::string Refusal(std::vector<std::string> arguments) {
    const Outcome outcome = Tacet(std::move(arguments));
    EXPECT_EQ(outcome.exit_code == 0, outcome.err.empty()) << outcome.err;
    return outcome.err;
  }
  // A file of the run with `what` replaced by `by`.
  void Change(const std::string& file, std::string_view what, std::string_view by) {
    std::string text = Read("run/" + file);
    const size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    std::ofstream(path_ / "run" / file) << text.replace(at, what.size(), by);
  }
  // The record with the changed text of the query, digest and annex as far as the forger wants, by
  // the holder of the run's own key.
  template <typename Alter>
  std::string Forged(Alter alter) {
    const auto file = tacet::audit::ReadAuditFile(Read("run/audit.json"));
    const auto key = run::LoadSigningKey(path_ / "run" / "audit.key");
    EXPECT_TRUE(file.ok() && key.ok());
    JsonValue record = file->record;
    JsonValue query = *record.Find("query");
    alter(query);
    record.Set("query", std::move(query));
    WriteConfig(tacet::audit::SignedAudit(record, *key), "forged.json");
    return "forged.json";
  }
  static std::string Replaced(std::string text, std::string_view what, std::string_view by) {
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return at == std::string::npos ? text : text.replace(at, what.size(), by);
  }
};

TEST_F(QueryAuditTest, TextAndAnswersAreBound) {
  EXPECT_EQ(Refusal({"audit", "write", "run"}), "");
  const JsonValue record = tacet::audit::ReadAuditFile(Read("run/audit.json"))->record;
  const JsonValue& query = *record.Find("query");
  const crypto::Digest asked = crypto::Sha256(base::AsBytes(kWomenQuery));
  EXPECT_EQ(*query.Find("digest")->AsString(), base::ToHex(asked));
  EXPECT_EQ(query.Find("answers")->Dump(), ReadJson("run/answers.json").Dump());
  const Outcome verified = Tacet({"audit", "verify", "run/audit.json"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, AllOf(HasSubstr("query       SHA-256 " + base::ToHex(asked)),
                                  HasSubstr("the query's answers were not computed again")));
  const Outcome whole = Tacet({"audit", "verify", "run/audit.json", "--model", "run/model.f32",
                               "--digest-key", "run/digest-0.key"});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.out, Not(HasSubstr("computed again")));

  // By somebody without the key.
  const std::string file = Read("run/audit.json");
  WriteConfig(Replaced(file, "sex = f", "sex = m"), "altered.json");
  EXPECT_THAT(Refusal({"audit", "verify", "altered.json"}),
              AllOf(HasSubstr("the query's text has the digest"), HasSubstr("it was changed"),
                    HasSubstr("signature")));
  // By the holder of the run's key.
  const auto another_text = [](JsonValue& changed) {
    changed.Set("agreed", Replaced(*changed.Find("agreed")->AsString(), "sex = f", "sex = m"));
  };
  EXPECT_THAT(Refusal({"audit", "verify", Forged(another_text)}), HasSubstr("it was changed"));
  const auto another_digest = [](JsonValue& changed) {
    changed.Set("digest", std::string(64, '7'));
  };
  EXPECT_THAT(Refusal({"audit", "verify", Forged(another_digest)}),
              HasSubstr("the query has the digest " + base::ToHex(asked)));
  const auto another_question = [](JsonValue& changed) {
    changed.Set("answers", *JsonValue::Parse(
                               Replaced(changed.Find("answers")->Dump(), "\"women\"", "\"men\"")));
  };
  EXPECT_THAT(Refusal({"audit", "verify", Forged(another_question)}),
              AllOf(HasSubstr("the query's answers"), HasSubstr("`name`")));
  const auto no_answers = [](JsonValue& changed) { changed = JsonValue(); };
  EXPECT_THAT(Refusal({"audit", "verify", Forged(no_answers)}),
              HasSubstr("the run answered a query, but its answers are missing"));
  const auto another_answer = [](JsonValue& changed) {
    JsonValue answers = *changed.Find("answers");
    JsonValue questions = JsonValue::MakeArray();
    for (const JsonValue& answer : answers.Find("questions")->items()) {
      JsonValue estimates = JsonValue::MakeArray();
      for (JsonValue estimate : answer.Find("estimates")->items()) {
        const absl::StatusOr<double> value = estimate.Find("value")->AsDouble();
        if (value.ok()) estimate.Set("value", *value * 1.001);
        estimates.Append(std::move(estimate));
      }
      JsonValue altered = answer;
      questions.Append(altered.Set("estimates", std::move(estimates)));
    }
    changed.Set("answers", answers.Set("questions", std::move(questions)));
  };
  EXPECT_THAT(Refusal({"audit", "verify", Forged(another_answer), "--model", "run/model.f32",
                       "--digest-key", "run/digest-0.key"}),
              AllOf(HasSubstr("the query's answers"), HasSubstr("the released sum gives")));
  // The table in print is computed again, too.
  const auto another_line = [](JsonValue& changed) {
    changed.Set("answers", *JsonValue::Parse(Replaced(changed.Find("answers")->Dump(),
                                                      "age, mean (sd)", "age, mean (se)")));
  };
  EXPECT_THAT(Refusal({"audit", "verify", Forged(another_line), "--model", "run/model.f32",
                       "--digest-key", "run/digest-0.key"}),
              AllOf(HasSubstr("the query's answers"), HasSubstr("the released sum gives")));
}

// Files of the run that were changed before anything was signed.
TEST_F(QueryAuditTest, AChangedRunIsNeitherReportedNorAudited) {
  const auto refused = [&](std::string_view file, std::string_view what, std::string_view by,
                           std::string_view why) {
    const std::string name(file), before = Read("run/" + name);
    Change(name, what, by);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"audit", "write", "run"}, {"report", "run"}}) {
      EXPECT_THAT(Refusal(command), AllOf(HasSubstr(name), HasSubstr(std::string(why))));
    }
    EXPECT_FALSE(std::filesystem::exists(path_ / "run/report.html"));
    std::ofstream(path_ / "run" / name) << before;
  };
  refused("query.toml", "sex = f", "sex = m", "not the query that was agreed");
  refused("agreed.toml", "sex = f", "sex = m", "its digest is");
  refused("config.toml", "sex = f", "sex = m", "not the query that was agreed");
  refused("answers.json", "\"value\": ", "\"value\": 1", "the released sum gives");
  refused("answers.json", "age, mean (sd)", "age, mean (se)", "the released sum gives");
  refused("answers.json", "\"floor\": 2", "\"floor\": 1", "the released sum gives");
  std::string sum = Read("run/model.f32");
  sum[1] = static_cast<char>(sum[1] ^ 1);
  std::ofstream(path_ / "run/model.f32", std::ios::binary) << sum;
  EXPECT_THAT(Refusal({"report", "run"}), HasSubstr("is not the sum that the round released"));
}

TEST_F(QueryAuditTest, TheReportShowsTheAnswers) {
  const Outcome told = Tacet({"report", "run", "--json"});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  const JsonValue data = *JsonValue::Parse(told.out);
  const JsonValue& run = data.Find("runs")->items()[0];
  EXPECT_EQ(run.Find("query")->Find("answers")->Dump(), ReadJson("run/answers.json").Dump());
  EXPECT_EQ(*run.Find("query")->Find("digest")->AsString(),
            base::ToHex(crypto::Sha256(base::AsBytes(kWomenQuery))));
  EXPECT_NEAR(Number(*run.Find("privacy")->Find("worst"), "epsilon"), 8, 0.01);
  EXPECT_EQ(Refusal({"report", "run"}), "");
  EXPECT_THAT(Read("run/report.html"), HasSubstr("women"));
}

}  // namespace
}  // namespace tacet::app
