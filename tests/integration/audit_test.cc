// `tacet audit` of runs that ended well, were killed, were refused, or protect nobody; and audits
// that were altered, by someone without the run's key and by someone with it.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/audit/audit_file.h"
#include "tacet/base/json.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/run_config.h"
#include "tacet/crypto/hash.h"
#include "tacet/data/dataset.h"
#include "tacet/ledger/data_digest.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/run/audit_key.h"
#include "tacet/storage/file/data_key.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/posix_file.h"
#include "tests/integration/broken_disk_for_test.h"
#include "tests/integration/program_for_test.h"

namespace tacet::app {
namespace {

using base::JsonValue;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class AuditTest : public ProgramTest {
 protected:
  void Simulate(const std::string& config, std::vector<std::string> more = {},
                const std::string& out = "run") {
    std::vector<std::string> arguments = {"simulate", "--config", WriteConfig(config), "--out",
                                          out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Tacet(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  // The answer of `tacet audit write run --json`.
  JsonValue Audit(const std::string& run = "run") {
    const Outcome outcome = Tacet({"audit", "write", run, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    auto answer = JsonValue::Parse(outcome.out);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(JsonValue::MakeObject());
  }

  // Why `name` does not hold; empty when it does.
  std::string Refusal(const std::string& name, const std::string& signer = "",
                      const std::string& model = "") {
    std::vector<std::string> arguments = {"audit", "verify", name};
    if (!model.empty()) {
      arguments.insert(arguments.end(), {"--model", model, "--digest-key", "run/digest-0.key"});
    }
    if (!signer.empty()) arguments.insert(arguments.end(), {"--signer", signer});
    const Outcome outcome = Tacet(arguments);
    EXPECT_EQ(outcome.exit_code == 0, outcome.err.empty()) << outcome.err;
    return outcome.err;
  }

  // The record with `what` replaced by `by`, signed with the run's own key.
  std::string Forged(const std::string& what, const std::string& by) {
    const auto file = tacet::audit::ReadAuditFile(Read("run/audit.json"));
    const auto key = run::LoadSigningKey(path_ / "run" / "audit.key");
    EXPECT_TRUE(file.ok() && key.ok());
    std::string record = file->record.Dump();
    const size_t at = record.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    record.replace(at, what.size(), by);
    const auto altered = JsonValue::Parse(record);
    EXPECT_TRUE(altered.ok()) << altered.status();
    return WriteConfig(tacet::audit::SignedAudit(*altered, *key), "forged.json");
  }

  // The run's ledger without the charges of which `cut` is true, whole and chained again.
  void CutCharges(const std::function<bool(const ledger::LedgerEntry&)>& cut) {
    const std::filesystem::path path = path_ / "run" / "ledger";
    const auto found = storage::file::LedgerFile::Read(path);
    ASSERT_TRUE(found.ok()) << found.status();
    base::Bytes bytes = ledger::WriteLedgerHeader(found->header);
    ledger::LedgerAnchor end = ledger::EmptyLedgerEnd(found->header);
    for (const ledger::LedgerEntry& entry : found->entries) {
      if (cut(entry)) continue;
      const base::Bytes record = ledger::WriteLedgerRecord(entry, end.head);
      end.head = ledger::RecordHash(record);
      ++end.count;
      bytes.insert(bytes.end(), record.begin(), record.end());
    }
    ASSERT_LT(end.count, found->entries.size());
    ASSERT_TRUE(storage::file::ReplaceFile(path, bytes).ok());
    ASSERT_TRUE(
        storage::file::ReplaceFile(storage::file::AnchorPath(path), ledger::WriteLedgerAnchor(end))
            .ok());
  }
  // Keeps the first `lines` lines of a file of the run.
  void CutLines(const std::string& name, size_t lines) {
    const std::string text = Read("run/" + name);
    size_t end = 0;
    for (size_t i = 0; i < lines; ++i) end = text.find('\n', end) + 1;
    WriteConfig(text.substr(0, end), "run/" + name);
  }

  JsonValue Record(const std::string& run = "run") {
    return *ReadJson(run + "/audit.json").Find("record");
  }
};

std::vector<std::string> Outcomes(const JsonValue& record) {
  std::vector<std::string> outcomes;
  for (const JsonValue& round : record.Find("rounds")->items()) {
    for (const JsonValue& attempt : round.Find("attempts")->items()) {
      outcomes.push_back(*attempt.Find("outcome")->AsString());
    }
  }
  return outcomes;
}

TEST_F(AuditTest, ARunIsAuditedVerifiedAndDescribed) {
  Simulate(kSmall);
  const JsonValue answer = Audit();
  const std::string signer = *answer.Find("signer")->AsString();
  EXPECT_EQ(Number(answer, "rounds"), 3);
  EXPECT_EQ(Refusal("run/audit.json"), "");
  EXPECT_EQ(Refusal("run/audit.json", signer), "");
  const Outcome verified =
      Tacet({"audit", "verify", "run/audit.json", "--signer", signer, "--model", "run/model.f32",
             "--digest-key", "run/digest-0.key", "--json"});
  const auto json = JsonValue::Parse(verified.out);
  ASSERT_TRUE(json.ok()) << verified.err;
  EXPECT_TRUE(*json->Find("valid")->AsBool());
  EXPECT_TRUE(*json->Find("pinned")->AsBool());
  EXPECT_TRUE(json->Find("notes")->items().empty());
  EXPECT_EQ(*json->Find("model")->AsString(), "the released model");

  // The same rows as the summary's, and what the ledger says.
  const JsonValue record = Record();
  EXPECT_EQ(record.Find("privacy")->Find("accountants")->Dump(),
            ReadJson("run/summary.json").Find("privacy")->Find("accountants")->Dump());
  const auto ledger = JsonValue::Parse(Tacet({"ledger", "verify", "run/ledger", "--json"}).out);
  EXPECT_EQ(record.Find("ledger")->Find("head")->Dump(), ledger->Find("head")->Dump());
  EXPECT_THAT(Outcomes(record), ::testing::ElementsAre("decrypted", "decrypted", "decrypted"));
  EXPECT_FALSE(record.Find("agreement")->Find("manifests")->items().empty());
  for (const JsonValue& library : record.Find("software")->Find("dependencies")->items()) {
    EXPECT_NE(*library.Find("version")->AsString(), "unknown") << library.Dump();
  }
  const std::string card = Read("run/model-card.md");
  EXPECT_THAT(card, AllOf(HasSubstr("3 of 3 rounds"), HasSubstr(signer),
                          HasSubstr("Anyone who sees every model")));
  // Auditing again changes the date at most.
  ASSERT_EQ(Tacet({"audit", "write", "run", "--out", "again.json"}).exit_code, 0);
  EXPECT_EQ(Refusal("again.json", signer), "");
  EXPECT_TRUE(std::filesystem::exists(path_ / "model-card.md"));
}

TEST_F(AuditTest, WhatWasAlteredIsNamed) {
  Simulate(kSmall);
  Simulate(kSmall, {}, "other");
  Audit();
  Audit("other");
  const JsonValue record = Record();
  const std::string epsilon =
      record.Find("privacy")->Find("headlines")->items().front().Find("epsilon")->Dump();
  EXPECT_THAT(Refusal(Forged("\"epsilon\":" + epsilon, "\"epsilon\":0.5")),
              AllOf(HasSubstr("row external, replace-one"),
                    HasSubstr("the record says 0.5, the events give " + epsilon)));
  const std::string round = record.Find("rounds")->items()[1].Dump();
  EXPECT_THAT(Refusal(Forged(round + ",", "")), HasSubstr("round 1 is missing"));
  const std::string ledger = *record.Find("ledger")->Find("bytes")->AsString();
  EXPECT_THAT(Refusal(Forged(ledger, ledger.substr(0, ledger.size() - 304))),
              HasSubstr("charges are missing"));
  // sigma = 1.5 of the agreement becomes 3.5: 3ff8... becomes 400c..., little-endian.
  EXPECT_THAT(Refusal(Forged("000000000000f83f", "0000000000000c40")),
              AllOf(HasSubstr("is of the agreement"), HasSubstr("which the record does not have")));

  // Without the key the signature goes too.
  std::string text = Read("run/audit.json");
  text.replace(text.find("\"participants\": 12"), 18, "\"participants\": 4");
  EXPECT_THAT(Refusal(WriteConfig(text, "altered.json")),
              AllOf(HasSubstr("round 0 has 4 participants"), HasSubstr("; and the signature")));
  // Another run's signature, its value alone and whole.
  const JsonValue own = *ReadJson("run/audit.json").Find("signature");
  const JsonValue foreign = *ReadJson("other/audit.json").Find("signature");
  text = Read("run/audit.json");
  const std::string value = *own.Find("value")->AsString();
  text.replace(text.find(value), value.size(), *foreign.Find("value")->AsString());
  EXPECT_THAT(Refusal(WriteConfig(text, "swapped.json")),
              HasSubstr("the signature is not that of this record"));
  text = Read("run/audit.json");
  text.resize(text.rfind("\"signature\""));
  const std::string stranger = Read("other/audit.json");
  EXPECT_THAT(
      Refusal(WriteConfig(text + stranger.substr(stranger.rfind("\"signature\"")), "whole.json")),
      AllOf(HasSubstr("signed by the key " + *foreign.Find("fingerprint")->AsString()),
            HasSubstr("the record names the key " + *own.Find("fingerprint")->AsString())));
  EXPECT_THAT(Refusal("run/audit.json", *foreign.Find("fingerprint")->AsString()),
              HasSubstr("asked for was"));
  EXPECT_THAT(Refusal("nowhere.json"), HasSubstr("nowhere.json"));
}

// Under Poisson sampling a K_min as large as the expected cohort refuses about every second
// attempt.
TEST_F(AuditTest, RefusedAttemptsStandWithTheirReason) {
  std::string config = kSmall;
  constexpr std::string_view kDrawn = "min_participants = 6";
  config.replace(config.find(kDrawn), kDrawn.size(),
                 "sampling = \"poisson\"\nmin_participants = 6\nspare_attempts = 60");
  Simulate(config, {"--insecure-seed", "3", "--rounds", "8"});
  Audit();
  const JsonValue record = Record();
  EXPECT_THAT(Outcomes(record), Contains("refused"));
  EXPECT_THAT(record.Dump(), HasSubstr("\"cause\":\"too-few-uploads\""));
  EXPECT_EQ(Refusal("run/audit.json"), "");
  // A seed that is known protects nobody.
  EXPECT_THAT(record.Find("run")->Find("labels")->Dump(), HasSubstr("insecure-seed"));
  EXPECT_TRUE(record.Find("privacy")->Find("headlines")->items().empty());
  EXPECT_THAT(Read("run/model-card.md"), HasSubstr("**No guarantee.**"));
}

TEST_F(AuditTest, ARunThatWasKilledAndResumedShowsWhatWasInterrupted) {
  std::string config = kSmall;
  config.insert(config.find("cohort = 6"), "spare_attempts = 200\n");
  config.replace(config.find("noise_multiplier = 3"), 20, "noise_multiplier = 24");
  const std::vector<std::string> start = {
      "simulate", "--config", WriteConfig(config), "--out", "run", "--rounds", "40"};
  const std::vector<std::string> resume = {"simulate", "--resume", "--out", "run"};
  // As early as it has completed a round, however slow the machine.
  for (int wait = 100; !std::filesystem::exists(path_ / "run" / "checkpoint"); wait += 100) {
    const bool begun = std::filesystem::exists(path_ / "run" / "config.toml");
    if (!begun) std::filesystem::remove_all(path_ / "run");
    const Outcome outcome = Tacet(begun ? resume : start, wait);
    ASSERT_NE(outcome.exit_code, 1) << outcome.err;
  }
  const bool finished = std::filesystem::exists(path_ / "run" / "summary.json");
  Audit();
  EXPECT_EQ(Refusal("run/audit.json"), "");
  EXPECT_EQ(*Record().Find("run")->Find("finished")->AsBool(), finished);
  EXPECT_EQ(Read("run/model-card.md").find("**unfinished**") == std::string::npos, finished);

  // The rest of a process killed within a round: a charge of an attempt that never ended.
  ASSERT_EQ(Tacet(resume).exit_code, 0);
  Audit();
  EXPECT_EQ(Refusal("run/audit.json"), "");
  const JsonValue record = Record();
  EXPECT_TRUE(*record.Find("run")->Find("finished")->AsBool());
  const size_t manifests = record.Find("agreement")->Find("manifests")->items().size();
  EXPECT_TRUE(finished || manifests >= 2) << manifests;
  const auto ledger = JsonValue::Parse(Tacet({"ledger", "verify", "run/ledger", "--json"}).out);
  EXPECT_EQ(Outcomes(record).size(), static_cast<size_t>(Number(*ledger, "records")));
  EXPECT_EQ(std::ranges::count(Outcomes(record), "decrypted"), 40);
}

// 20 clients in cohorts of 10 that their own coins draw, 30 rounds. Somebody looks at the models
// and stops the run when the third one pleases. The cost of three rounds does not bound that.
TEST_F(AuditTest, ARunThatWasStoppedByLookingStatesTheEpsilonOfAllItsAttempts) {
  std::string config = kSmall;
  config.replace(config.find("writers = 12"), 12, "writers = 20");
  config.replace(config.find("rounds = 3"), 10, "rounds = 30\nspare_attempts = 0");
  const std::string drawn = "cohort = 6\nmin_participants = 6";
  config.replace(config.find(drawn), drawn.size(), "cohort = 10\nmin_participants = 20");
  config.replace(config.find("noise_multiplier = 3"), 20, "noise_multiplier = 4");
  config.replace(config.find("clip_norm = 0.5"), 15, "clip_norm = 1");
  std::vector<std::string> arguments =
      BrokenDiskOf(path_, {"BROKEN_STOP=make run/checkpoint.new", "BROKEN_SKIP=2", TACET_PROGRAM});
  arguments.insert(arguments.end(), {"simulate", "--config", WriteConfig(config), "--out", "run"});
  const pid_t child = Start("env", arguments, "stopped-");
  int status = 0;
  ASSERT_TRUE(AwaitStop(child, status)) << status;
  ASSERT_EQ(kill(child, SIGTERM), 0);
  ASSERT_EQ(kill(child, SIGCONT), 0);
  const Outcome stopped = WaitFor(child, "stopped-");
  ASSERT_THAT(stopped.err, HasSubstr("the run can be resumed"));
  const JsonValue audited = Audit();
  EXPECT_EQ(Refusal("run/audit.json"), "");
  const JsonValue record = Record();
  const JsonValue& privacy = *record.Find("privacy");
  EXPECT_GE(Number(*privacy.Find("worst"), "epsilon"), 6.459);
  EXPECT_LE(Number(*privacy.Find("worst"), "epsilon"), 6.46);
  EXPECT_EQ(Number(privacy, "permitted_attempts"), 30);
  const double charged = Number(privacy, "charged_attempts");
  EXPECT_LT(charged, 30);
  const double forecast = Number(privacy, "charged_epsilon");
  EXPECT_LT(forecast, 6.459);
  EXPECT_EQ(Number(audited, "charged_epsilon"), forecast);
  EXPECT_THAT(Read("run/model-card.md"), HasSubstr("**Epsilon is 6.459**"));
  EXPECT_THAT(Read("run/model-card.md"), HasSubstr("a forecast"));
  // A record with the smaller figures does not verify.
  EXPECT_THAT(Refusal(Forged("\"permitted_attempts\":30",
                             fmt::format("\"permitted_attempts\":{}", charged))),
              HasSubstr("`permitted_attempts`: the record says"));
  const auto report = JsonValue::Parse(Tacet({"report", "run", "--json"}).out);
  ASSERT_TRUE(report.ok()) << report.status();
  const JsonValue& run = report->Find("runs")->items().front();
  EXPECT_GE(Number(*run.Find("privacy")->Find("worst"), "epsilon"), 6.459);
  EXPECT_EQ(Number(*run.Find("facts"), "charged_epsilon"), forecast);
  EXPECT_EQ(Number(*run.Find("facts"), "permitted_attempts"), 30);
  // Its end changes nothing but the forecast.
  ASSERT_EQ(Tacet({"simulate", "--resume", "--out", "run"}).exit_code, 0);
  const JsonValue summary = ReadJson("run/summary.json");
  EXPECT_EQ(Number(summary, "epsilon"), Number(*privacy.Find("worst"), "epsilon"));
  EXPECT_EQ(Number(summary, "charged_epsilon"), Number(summary, "epsilon"));
}

TEST_F(AuditTest, RecordsAreAUnitToo) {
  std::string config = kSmall;
  config.replace(config.find("cohort = 6"), 10, "");
  config.replace(config.find("min_participants = 6"), 20, "");
  config.replace(config.find("coordinate_bound = 0.1"), 22,
                 "coordinate_bound = 32\nunit = \"record\"\nrecord_rate = 0.1");
  config.replace(config.find("scale = 1e-3"), 12, "scale = 1e-2");
  Simulate(config);
  Audit();
  EXPECT_EQ(Refusal("run/audit.json"), "");
  EXPECT_EQ(*Record().Find("privacy_unit")->Find("unit")->AsString(), "record");
}

// Somebody who holds the run's key cuts its last charge, to state less than was spent, and alters
// one file after the other until an audit is written.
TEST_F(AuditTest, ACutChargeIsMissed) {
  Simulate(kSmall);
  Audit();
  const std::string signer =
      *ReadJson("run/audit.json").Find("signature")->Find("fingerprint")->AsString();
  CutCharges([](const ledger::LedgerEntry& entry) { return entry.label.number.round == 2; });
  const auto refusal = [this] {
    const Outcome outcome = Tacet({"audit", "write", "run", "--out", "cut.json"});
    EXPECT_EQ(outcome.exit_code == 0, outcome.err.empty());
    return outcome.err;
  };
  EXPECT_THAT(refusal(), HasSubstr("attempts lists round 2 attempt 0 of epoch 0, which the "
                                   "ledger does not charge: charges were cut from it"));
  CutLines("attempts", 2);
  EXPECT_THAT(refusal(), HasSubstr("metrics.jsonl lists 1 attempts of round 2"));
  CutLines("metrics.jsonl", 2);
  EXPECT_THAT(refusal(), HasSubstr("summary.json counts 3 rounds and 3 charges"));
  JsonValue summary = ReadJson("run/summary.json");
  summary.Set("rounds", 2).Set("charged_attempts", 2).Set("stopped", "the budget");
  WriteConfig(summary.Dump(), "run/summary.json");
  EXPECT_THAT(refusal(), HasSubstr("checkpoint counts 3 rounds"));
  std::filesystem::remove(path_ / "run" / "checkpoint");
  EXPECT_THAT(refusal(), HasSubstr("is not the model with which round 1 ended by metrics.jsonl"));
  // Without a summary the run is an unfinished one of two rounds. That record is not about the
  // model that was released.
  std::filesystem::remove(path_ / "run" / "summary.json");
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(Refusal("cut.json", signer), "");
  EXPECT_THAT(Refusal("cut.json", signer, "run/model.f32"),
              AllOf(HasSubstr("the record is not about this model"),
                    HasSubstr("before a model was released")));
}

// The charge of an attempt that gave no sum is in no round's model.
TEST_F(AuditTest, ACutChargeOfARefusedAttemptIsMissed) {
  std::string config = kSmall;
  constexpr std::string_view kDrawn = "min_participants = 6";
  config.replace(config.find(kDrawn), kDrawn.size(),
                 "sampling = \"poisson\"\nmin_participants = 6\nspare_attempts = 60");
  Simulate(config, {"--insecure-seed", "3", "--rounds", "8"});
  ASSERT_FALSE(Read("run/refused").empty());
  uint32_t round = 0;
  const std::string line = Read("run/refused").substr(0, Read("run/refused").find('\n'));
  ASSERT_EQ(std::sscanf(line.c_str(), "%*u %u", &round), 1);
  CutCharges([round](const ledger::LedgerEntry& entry) {
    return entry.label.number.round == round && entry.label.number.attempt == 0;
  });
  const std::string charge = line.substr(0, line.rfind(' '));
  const auto without = [this](const std::string& name, const std::string& what) {
    std::string text = Read("run/" + name);
    text.erase(text.find(what), what.size());
    WriteConfig(text, "run/" + name);
  };
  EXPECT_THAT(Tacet({"audit", "write", "run"}).err, HasSubstr("attempts lists round"));
  without("attempts", charge + "\n");
  EXPECT_THAT(Tacet({"audit", "write", "run"}).err, HasSubstr("refused lists round"));
  without("refused", line + "\n");
  EXPECT_THAT(Tacet({"audit", "write", "run"}).err, HasSubstr("metrics.jsonl lists"));
  // Every count is lowered, too. The attempt that the round needed next stays.
  std::string metrics;
  std::istringstream lines(Read("run/metrics.jsonl"));
  for (std::string text; std::getline(lines, text);) {
    JsonValue value = *JsonValue::Parse(text);
    const auto number = static_cast<uint32_t>(Number(value, "round"));
    const double less = number == round ? 1 : 0, less_in_all = number >= round ? 1 : 0;
    value.Set("attempts", Number(value, "attempts") - less);
    value.Set("charged_attempts", Number(value, "charged_attempts") - less_in_all);
    metrics += value.Dump() + "\n";
  }
  WriteConfig(metrics, "run/metrics.jsonl");
  JsonValue summary = ReadJson("run/summary.json");
  summary.Set("charged_attempts", Number(summary, "charged_attempts") - 1);
  WriteConfig(summary.Dump(), "run/summary.json");
  EXPECT_THAT(Tacet({"audit", "write", "run"}).err, HasSubstr("attempt 0 before it was not"));
}

TEST_F(AuditTest, FiguresOnHeldOutDataAreRoundedOrLeftOut) {
  Simulate(kSmall);
  Audit();
  const JsonValue result = *Record().Find("run")->Find("result");
  EXPECT_LE(result.Find("accuracy")->Dump().size(), 5u);
  EXPECT_NEAR(Number(result, "accuracy"), Number(ReadJson("run/summary.json"), "accuracy"), 5e-4);
  EXPECT_THAT(*result.Find("statement")->AsString(), HasSubstr("Epsilon does not cover them"));
  EXPECT_EQ(Refusal("run/audit.json"), "");

  const std::string config = std::string(kSmall) + "[run]\npublish_evaluation = false\n";
  const Outcome quiet = Tacet({"simulate", "--config", WriteConfig(config), "--out", "quiet"});
  ASSERT_EQ(quiet.exit_code, 0) << quiet.err;
  EXPECT_THAT(quiet.out, Not(AnyOf(HasSubstr("held-out"), HasSubstr("% before"))));
  EXPECT_TRUE(ReadJson("quiet/summary.json").Find("accuracy")->is_null());
  Audit("quiet");
  EXPECT_TRUE(Record("quiet").Find("run")->Find("result")->is_null());
  EXPECT_EQ(Refusal("quiet/audit.json"), "");
  EXPECT_EQ(Tacet({"report", "quiet"}).exit_code, 0);
}

TEST_F(AuditTest, AModelIsHeldAgainstItsRecord) {
  Simulate(kSmall);
  Simulate(kSmall, {}, "other");
  Audit();
  const JsonValue record = Record();
  EXPECT_EQ(record.Find("run")->Find("released_model")->Dump(),
            record.Find("rounds")->items()[2].Find("model")->Dump());
  EXPECT_EQ(*record.Find("run")->Find("kind")->AsString(), "simulation");
  EXPECT_EQ(Refusal("run/audit.json", "", "run/model.f32"), "");
  EXPECT_THAT(Refusal("run/audit.json", "", "other/model.f32"),
              AllOf(HasSubstr("other/model.f32"), HasSubstr("the record is not about this model")));
  EXPECT_THAT(Refusal("run/audit.json", "", "nowhere"), HasSubstr("nowhere"));
  // The record and the model alone do not tell that they belong together.
  const Outcome keyless = Tacet({"audit", "verify", "run/audit.json", "--model", "run/model.f32"});
  EXPECT_EQ(keyless.exit_code, 1);
  EXPECT_THAT(keyless.err, HasSubstr("--model and --digest-key go together"));
  EXPECT_THAT(Read("run/audit.json"),
              Not(HasSubstr(base::ToHex(crypto::Sha256(base::AsBytes(Read("run/model.f32")))))));
  EXPECT_THAT(Tacet({"audit", "verify", "run/audit.json", "--model", "run/model.f32",
                     "--digest-key", "other/digest-0.key"})
                  .err,
              HasSubstr("or the digest key is another one"));
  // The key's holder says that another model was released.
  const std::string released = record.Find("run")->Find("released_model")->Dump();
  EXPECT_THAT(Refusal(Forged("\"released_model\":" + released,
                             "\"released_model\":\"" + std::string(64, '0') + "\"")),
              HasSubstr("the released model is 0000000000000000, but 3 rounds ended with"));
  EXPECT_THAT(Refusal(Forged("\"kind\":\"simulation\"", "\"kind\":\"member\"")),
              HasSubstr("its agreement is that of a simulation"));
}

// A run states the terms of the plan that it ran by, the same in every place.
TEST_F(AuditTest, ImplementationTermsAreTheRunsOwnEverywhere) {
  std::string box_muller = kSmall;
  box_muller += "sampler = \"box-muller\"\n";
  box_muller.insert(box_muller.find("cohort = 6"), "sampling = \"fixed-size\"\n");
  std::string records = kSmall;
  records.replace(records.find("cohort = 6"), 10, "");
  records.replace(records.find("min_participants = 6"), 20, "");
  records.replace(records.find("coordinate_bound = 0.1"), 22,
                  "coordinate_bound = 2\nunit = \"record\"\nrecord_rate = 0.1");
  records.replace(records.find("scale = 1e-3"), 12, "scale = 1e-2");
  Simulate(kSmall, {}, "usual");
  Simulate(box_muller, {}, "box-muller");
  Simulate(records, {}, "records");
  Simulate(records + "colluders = 9\n", {}, "colluders");
  const auto terms = [this](const std::string& run) {
    Audit(run);
    EXPECT_EQ(Refusal(run + "/audit.json"), "");
    const JsonValue headline = Record(run).Find("privacy")->Find("headlines")->items().front();
    const JsonValue* stated = headline.Find("implementation");
    EXPECT_NE(stated, nullptr) << headline.Dump();
    const auto report = JsonValue::Parse(Tacet({"report", "--json", run}).out);
    for (const JsonValue& told :
         {ReadJson(run + "/summary.json"), report->Find("runs")->items().front()}) {
      EXPECT_EQ(told.Find("privacy")->Find("headlines")->items().front().Dump(), headline.Dump());
    }
    return *stated;
  };
  // A Box-Muller draw ends at 9.42 standard deviations instead of 13.32. Fewer shares make each
  // larger, and with it the rounding of a draw.
  EXPECT_GT(Number(terms("box-muller"), "delta"), 10 * Number(terms("usual"), "delta"));
  EXPECT_GT(Number(terms("colluders"), "epsilon"), Number(terms("records"), "epsilon"));
}

// The same data with one row's label replaced.
data::Dataset WithLabel(const data::Dataset& data, uint64_t row, uint32_t label) {
  data::DatasetSpec spec{.name = data.name(),
                         .input_shape = data.input_shape(),
                         .features = data.features(),
                         .labels = data.labels(),
                         .sample_clients = std::vector<uint32_t>(data.samples()),
                         .client_names = {},
                         .classes = data.classes()};
  for (uint64_t client = 0; client < data.clients(); ++client) {
    spec.client_names.push_back(data.client_name(client));
    for (const uint32_t own : data.rows(client)) {
      spec.sample_clients[own] = static_cast<uint32_t>(client);
    }
  }
  spec.labels[row] = label;
  return *data::Dataset::Create(std::move(spec));
}

// An attacker who knows all samples but the label of one tries every label and looks for a
// published value that confirms the guess: a digest in bytes or digits, also a part of one.
TEST_F(AuditTest, NoPublishedValueConfirmsAGuessAboutTheData) {
  const Outcome run = Tacet({"simulate", "--config", WriteConfig(kSmall), "--out", "run"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  Audit();
  std::string published = run.out + run.err;
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"ledger", "show", "run/ledger"},
                                             {"ledger", "show", "run/ledger", "--json"},
                                             {"report", "run", "--json"},
                                             {"audit", "verify", "run/audit.json", "--json"}}) {
    const Outcome told = Tacet(command);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    published += told.out + told.err;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_ / "run")) {
    if (entry.path().extension() != ".key") published += ReadAll(entry.path());
  }
  const auto config = config::LoadRunConfig((path_ / "run" / "config.toml").string());
  ASSERT_TRUE(config.ok());
  const auto data = config::LoadRunData(*config);
  ASSERT_TRUE(data.ok());
  const auto is_published = [&published](const crypto::Digest& digest) {
    const std::string bytes(digest.begin(), digest.end()), digits = base::ToHex(digest);
    return published.find(bytes.substr(0, 6)) != std::string::npos ||
           published.find(digits.substr(0, 12)) != std::string::npos;
  };
  // A value that is published is found: the run's digest under the key that stays at the site.
  const auto key = storage::file::ReadDataKey(path_ / "run" / "data.key");
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_TRUE(
      is_published(ledger::KeyedDataDigest(*key, ledger::kRunDigest, data::DatasetDigest(*data))));
  for (uint32_t guess = 0; guess < data->classes(); ++guess) {
    const data::Dataset guessed = WithLabel(*data, data->samples() - 1, guess);
    const crypto::Digest digest = data::DatasetDigest(guessed);
    EXPECT_FALSE(is_published(digest)) << "the label " << guess << " is confirmed";
    EXPECT_FALSE(is_published(crypto::Sha256(digest)));
  }
}

TEST_F(AuditTest, TheDataKeyStaysWithItsRun) {
  Simulate(kSmall, {"--rounds", "1"});
  Simulate(kSmall, {"--rounds", "1"}, "other");
  // The same data, under two keys.
  EXPECT_EQ(Read("run/data.digest").size(), 32u);
  EXPECT_NE(Read("run/data.digest"), Read("other/data.digest"));
  EXPECT_EQ(Tacet({"simulate", "--resume", "--out", "run"}).exit_code, 0);
  std::filesystem::remove(path_ / "run" / "data.key");
  EXPECT_THAT(Tacet({"simulate", "--resume", "--out", "run"}).err, HasSubstr("put the key back"));
}

TEST_F(AuditTest, KeysAreKeptFromOthersAndRunsWithoutOneNeedOne) {
  Simulate(kSmall, {"--rounds", "1"});
  const std::filesystem::path key = path_ / "run" / "audit.key";
  std::filesystem::permissions(key, std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(Tacet({"audit", "write", "run"}).err, HasSubstr("chmod 600"));
  std::filesystem::permissions(key, std::filesystem::perms::group_read,
                               std::filesystem::perm_options::remove);
  std::filesystem::rename(key, path_ / "my.key");
  EXPECT_THAT(Tacet({"audit", "write", "run"}).err, HasSubstr("--key"));
  ASSERT_EQ(Tacet({"audit", "write", "run", "--key", "my.key"}).exit_code, 0);
  EXPECT_EQ(Refusal("run/audit.json"), "");

  JsonValue start = ReadJson("run/start.json");
  start.Set("audit_key", JsonValue());
  WriteConfig(start.Dump(), "run/start.json");
  EXPECT_THAT(Tacet({"audit", "write", "run"}).err, HasSubstr("has no key of its own"));
  for (const auto& entry : std::filesystem::directory_iterator(path_ / "run")) {
    if (entry.path().filename().string().starts_with("manifest-")) {
      std::filesystem::remove(entry.path());
    }
  }
  EXPECT_THAT(Tacet({"audit", "write", "run", "--key", "my.key"}).err,
              HasSubstr("did not keep the manifests of its charges"));
}

TEST_F(AuditTest, ErrorsNameWhatIsWrong) {
  EXPECT_THAT(Tacet({"audit", "write", "nowhere"}).err, HasSubstr("nowhere holds no run"));
  EXPECT_THAT(Tacet({"audit", "verify"}).err, HasSubstr("file is required"));
  EXPECT_THAT(Tacet({"audit", "run"}).err, HasSubstr("unknown command `run`"));
  Simulate(kSmall);
  std::string metrics = Read("run/metrics.jsonl");
  const size_t second = metrics.find('\n') + 1;
  WriteConfig(metrics.substr(0, second) + metrics.substr(metrics.find('\n', second) + 1),
              "run/metrics.jsonl");
  EXPECT_THAT(Tacet({"audit", "write", "run"}).err,
              HasSubstr("metrics.jsonl, line 2: found round 2 where round 1 was expected"));
  WriteConfig(metrics.substr(0, second), "run/metrics.jsonl");
  EXPECT_THAT(Tacet({"audit", "write", "run"}).err,
              HasSubstr("metrics.jsonl has 1 rounds and the ledger 3 charges"));
}

}  // namespace
}  // namespace tacet::app
