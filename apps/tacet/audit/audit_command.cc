#include "apps/tacet/audit/audit_command.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/audit/audit_document.h"
#include "tacet/audit/audit_record.h"
#include "tacet/audit/audit_verify.h"
#include "tacet/audit/model_card.h"
#include "tacet/base/bytes.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/run/answer_check.h"
#include "tacet/run/audit_key.h"
#include "tacet/run/run_audit.h"
#include "tacet/run/run_output.h"
#include "tacet/run/run_reader.h"
#include "tacet/storage/file/digest_key_file.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::app::audit {
namespace {

using base::JsonValue;
using tacet::audit::AuditedRun;
using tacet::audit::DocumentKind;

constexpr std::string_view kModelCardFile = "model-card.md";

// Both commands describe a run by this.
JsonValue Described(const AuditedRun& run, const JsonValue& record) {
  return JsonValue::MakeObject()
      .Set("finished", run.facts.finished)
      .Set("labels", base::JsonList(run.facts.labels))
      .Set("rounds", run.complete_rounds())
      .Set("charged_attempts", run.charges())
      .Set("permitted_attempts", agreement::AttemptsIn(run.permitted()))
      .Set("charged_epsilon", *record.Find("privacy")->Find("charged_epsilon"))
      .Set("agreement", base::ToHex(run.agreement_digest()))
      .Set("agreements", run.agreements.size())
      .Set("first_round", run.first_round())
      .Set("kind", tacet::audit::RunKindName(run.facts.kind))
      .Set("released_model", run.facts.released_model
                                 ? JsonValue(base::ToHex(*run.facts.released_model))
                                 : JsonValue())
      .Set("ledger_head", base::ToHex(run.facts.ledger_end.head))
      .Set("query", run.facts.query ? JsonValue(base::ToHex(run.facts.query->text)) : JsonValue())
      .Set("headlines", *record.Find("privacy")->Find("headlines"));
}

void PrintRun(const AuditedRun& run, const JsonValue& record) {
  fmt::print("run         {} of {} rounds{}, {} attempts charged\n", run.complete_rounds(),
             run.agreed().rounds, run.facts.finished ? "" : " (unfinished)", run.charges());
  fmt::print("kind        {}\n", tacet::audit::RunKindName(run.facts.kind));
  if (run.agreements.size() > 1) {
    fmt::print("terms       {} agreements: members or terms changed in mid-run\n",
               run.agreements.size());
  }
  if (run.first_round() > 0) {
    fmt::print("came        after {} rounds, which had none of this member's data\n",
               run.first_round());
  }
  if (!run.facts.labels.empty()) {
    fmt::print("labelled    {}: no guarantee\n", fmt::join(run.facts.labels, ", "));
  }
  if (run.facts.query.has_value()) {
    fmt::print("query       SHA-256 {}\n", base::ToHex(run.facts.query->text));
  }
  const JsonValue& privacy = *record.Find("privacy");
  if (const absl::StatusOr<double> forecast = privacy.Find("charged_epsilon")->AsDouble();
      forecast.ok()) {
    fmt::print("forecast    epsilon {:.4f} for the attempts charged so far\n", *forecast);
    fmt::print("guarantee   for all {} attempts that the agreement permits\n",
               agreement::AttemptsIn(run.permitted()));
  }
  for (const JsonValue& row : privacy.Find("headlines")->items()) {
    fmt::print("epsilon     {:.4f} for {} ({})\n", row.Find("epsilon")->AsDouble().value_or(0),
               row.Find("observer")->AsString().value_or(""),
               row.Find("name")->AsString().value_or(""));
  }
}

class WriteCommand : public program::Command {
 public:
  std::string_view name() const override { return "write"; }
  std::string_view summary() const override {
    return "write a signed record of a run's privacy guarantee, and a model card";
  }

  void Register(program::Options& options) override {
    options.AddPositional("run", "run directory to audit", {}, true, &run_);
    options.AddString("out",
                      "path of the audit file; when not given, audit.json in the run directory. "
                      "The model card is written next to it as model-card.md",
                      &out_);
    options.AddString("key",
                      "file with the Ed25519 seed (32 bytes, mode 0600) to sign with; the run's "
                      "own audit.key when not given",
                      &key_);
    options.AddStrings(
        "as",
        "dpia, annex-iv, registry or cyclonedx: also write this document next to the "
        "audit, as WORD.md or cyclonedx.json; may be repeated",
        &documents_);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const std::vector<DocumentKind> kinds, Kinds());
    absl::StatusOr<run::RunToAudit> read = run::ReadRunToAudit(run_, base::SystemUnixSeconds());
    if (read.status().code() == absl::StatusCode::kDataLoss) {
      return base::Annotate(read.status(), fmt::format("the run in {}", run_));
    }
    TACET_RETURN_IF_ERROR(read.status());
    const run::RunRecord& run = read->run;
    TACET_ASSIGN_OR_RETURN(const crypto::SigningKey key, SigningKey(run));
    read->facts.signer = key.public_key();
    absl::StatusOr<AuditedRun> audited = tacet::audit::CheckFacts(std::move(read->facts));
    if (!audited.ok()) {
      return base::Annotate(audited.status(),
                            fmt::format("the run in {} contradicts itself", run.path.string()));
    }
    TACET_ASSIGN_OR_RETURN(const JsonValue record, tacet::audit::AuditRecord(*audited));
    const std::filesystem::path path =
        out_ ? std::filesystem::path(*out_) : run.path / "audit.json";
    const std::filesystem::path card = path.parent_path() / kModelCardFile;
    TACET_RETURN_IF_ERROR(
        storage::file::ReplaceFile(path, base::AsBytes(tacet::audit::SignedAudit(record, key))));
    TACET_ASSIGN_OR_RETURN(const std::string text, CardOf(*audited, path.filename().string()));
    TACET_RETURN_IF_ERROR(storage::file::ReplaceFile(card, base::AsBytes(text)));
    PrintAudit(*audited, record, path, card);
    return WriteDocuments(kinds, *audited, path.parent_path());
  }

 private:
  absl::StatusOr<std::vector<DocumentKind>> Kinds() const {
    std::vector<DocumentKind> kinds;
    for (const std::string& name : documents_) {
      const absl::StatusOr<DocumentKind> kind = tacet::audit::ParseDocumentKind(name);
      if (!kind.ok()) return base::Annotate(kind.status(), "--as");
      kinds.push_back(*kind);
    }
    return kinds;
  }
  // A document that people have filled in is not overwritten.
  absl::Status WriteDocuments(const std::vector<DocumentKind>& kinds, const AuditedRun& run,
                              const std::filesystem::path& folder) const {
    for (const DocumentKind kind : kinds) {
      const std::filesystem::path path = folder / tacet::audit::DocumentFile(kind);
      const absl::StatusOr<base::Bytes> there = storage::file::ReadFile(path);
      if (there.ok()) {
        const auto known = tacet::audit::CheckDocument(base::AsText(*there), run);
        if (known.ok() && known->filled + known->others.size() == 0) continue;
        return base::AlreadyExists(
            "{} is there, and people or an earlier audit wrote it: move it away first",
            path.string());
      }
      TACET_ASSIGN_OR_RETURN(const std::string text, tacet::audit::AuditDocument(kind, run));
      TACET_RETURN_IF_ERROR(storage::file::ReplaceFile(path, base::AsBytes(text)));
      if (!json_) fmt::print("document    {}\n", path.string());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<crypto::SigningKey> SigningKey(const run::RunRecord& run) const {
    if (key_.has_value()) return run::LoadSigningKey(*key_);
    if (!run.start.has_value() || !run.start->audit_key.has_value()) {
      return base::FailedPrecondition(
          "the run in {} has no key of its own (the program that began it made none): give one "
          "with "
          "--key FILE",
          run.path.string());
    }
    absl::StatusOr<crypto::SigningKey> key = run::LoadSigningKey(run.path / run::kAuditKeyFile);
    if (!key.ok()) {
      return base::Annotate(key.status(), "the run's key (another one can be given with --key)");
    }
    if (key->public_key() == *run.start->audit_key) return key;
    return base::FailedPrecondition("{} is not the key that {} names",
                                    (run.path / run::kAuditKeyFile).string(),
                                    (run.path / run::kStartFile).string());
  }

  static absl::StatusOr<std::string> CardOf(const AuditedRun& run, const std::string& name) {
    TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                           tacet::audit::AuditedGuarantees(run));
    std::string explanation;
    if (run.has_guarantee()) {
      TACET_ASSIGN_OR_RETURN(const accounting::PrivacyStatement statement,
                             agreement::StatePrivacy(run.permitted(), guarantees));
      explanation = accounting::StatementText(statement);
    }
    TACET_ASSIGN_OR_RETURN(const double charged, tacet::audit::ChargedEpsilonOf(run));
    return tacet::audit::ModelCard(run, guarantees, charged, explanation, name);
  }

  void PrintAudit(const AuditedRun& run, const JsonValue& record, const std::filesystem::path& path,
                  const std::filesystem::path& card) const {
    const std::string signer = crypto::KeyFingerprint(run.facts.signer);
    if (json_) {
      fmt::print("{}\n", Described(run, record)
                             .Set("audit", path.string())
                             .Set("model_card", card.string())
                             .Set("signer", signer)
                             .Dump(2));
      return;
    }
    PrintRun(run, record);
    fmt::print("audit       {}\nmodel card  {}\nsigned by   {}\n", path.string(), card.string(),
               signer);
  }

  std::string run_;
  std::optional<std::string> out_, key_;
  std::vector<std::string> documents_;
  bool json_ = false;
};

class VerifyCommand : public program::Command {
 public:
  std::string_view name() const override { return "verify"; }
  std::string_view summary() const override {
    return "compute every figure of a signed record again, offline";
  }

  void Register(program::Options& options) override {
    options.AddPositional("file", "audit file that `tacet audit write` wrote", {}, true, &file_);
    options.AddString("signer", "fingerprint of the key that must have signed the audit", &signer_);
    options.AddString("model", "model file, which must be one of this run's", &model_);
    options.AddString("digest-key",
                      "with --model: file with the key of the model's digest, digest-EPOCH.key of "
                      "the run directory (32 bytes, mode 0600)",
                      &digest_key_);
    options.AddString("document",
                      "document that `tacet audit write --as` wrote: compute its figures again, "
                      "and name what people have to fill in",
                      &document_);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override {
    const absl::StatusOr<tacet::audit::VerifiedAudit> verified = VerifyFile();
    if (!verified.ok()) {
      if (json_) {
        fmt::print("{}\n", JsonValue::MakeObject()
                               .Set("valid", false)
                               .Set("reason", base::Message(verified.status()))
                               .Dump(2));
      }
      return verified.status();
    }
    if (!json_) {
      PrintRun(verified->run, verified->record);
      fmt::print("valid: every figure follows from the facts in the file\nsigned by   {}\n",
                 verified->signer);
      if (model_.has_value()) fmt::print("model       {} is {}\n", *model_, model_is_);
      if (checked_.has_value()) PrintDocument(*checked_);
      for (const std::string& note : verified->notes) fmt::print("note        {}\n", note);
      return absl::OkStatus();
    }
    fmt::print("{}\n", JsonValue::MakeObject()
                           .Set("valid", true)
                           .Set("signer", verified->signer)
                           .Set("pinned", !signer_.empty())
                           .Set("model", model_ ? JsonValue(model_is_) : JsonValue())
                           .Set("document", DocumentJson())
                           .Set("run", Described(verified->run, verified->record))
                           .Set("notes", base::JsonList(verified->notes))
                           .Dump(2));
    return absl::OkStatus();
  }

 private:
  void PrintDocument(const tacet::audit::CheckedDocument& checked) const {
    fmt::print("document    {} ({}): every line that follows from the record is there\n",
               *document_, tacet::audit::DocumentKindName(checked.kind));
    for (const std::string& field : checked.open) fmt::print("to fill in  {}\n", field);
    if (checked.filled > 0) fmt::print("filled in   {} fields, by people\n", checked.filled);
    for (const std::string& line : checked.others) fmt::print("added       {}\n", line);
  }
  JsonValue DocumentJson() const {
    if (!checked_.has_value()) return JsonValue();
    return JsonValue::MakeObject()
        .Set("kind", tacet::audit::DocumentKindName(checked_->kind))
        .Set("filled", uint64_t{checked_->filled})
        .Set("open", base::JsonList(checked_->open))
        .Set("added", base::JsonList(checked_->others));
  }

  absl::StatusOr<tacet::audit::VerifiedAudit> VerifyFile() {
    TACET_ASSIGN_OR_RETURN(const std::string text,
                           run::ReadText(file_, tacet::audit::kMaxAuditBytes));
    TACET_ASSIGN_OR_RETURN(const tacet::audit::AuditFile file, tacet::audit::ReadAuditFile(text));
    TACET_ASSIGN_OR_RETURN(tacet::audit::VerifiedAudit audit,
                           tacet::audit::VerifyAudit(file, signer_));
    std::optional<base::Bytes> model;
    if (model_.has_value() != digest_key_.has_value()) {
      return base::InvalidArgument(
          "--model and --digest-key go together: the record names models by digests under a key "
          "that it leaves out, digest-EPOCH.key of the run directory");
    }
    if (model_.has_value()) {
      TACET_ASSIGN_OR_RETURN(const secagg::DigestKey key,
                             storage::file::ReadDigestKey(*digest_key_));
      TACET_ASSIGN_OR_RETURN(model, storage::file::ReadFile(*model_));
      TACET_ASSIGN_OR_RETURN(const std::vector<float> values,
                             config::LoadParameters(*model_, "--model"));
      absl::StatusOr<std::string> which = tacet::audit::CheckModel(audit.run, values, key);
      if (!which.ok()) return base::Annotate(which.status(), *model_);
      model_is_ = *std::move(which);
    } else {
      audit.notes.push_back(
          "whether a model is that of the record was not checked: give its file with --model, and "
          "the key of its digest with --digest-key");
    }
    TACET_RETURN_IF_ERROR(CheckQuery(audit, model));
    if (document_.has_value()) {
      TACET_ASSIGN_OR_RETURN(const std::string document,
                             run::ReadText(*document_, tacet::audit::kMaxAuditBytes));
      TACET_ASSIGN_OR_RETURN(checked_, tacet::audit::CheckDocument(document, audit.run));
    }
    return audit;
  }

  // The query of the record: its text by the agreement, its answers by the released sum.
  absl::Status CheckQuery(tacet::audit::VerifiedAudit& audit,
                          const std::optional<base::Bytes>& model) const {
    if (!audit.run.facts.query.has_value()) return absl::OkStatus();
    const tacet::audit::AuditedQuery& query = *audit.run.facts.query;
    const auto loaded = run::AgreedQuery(query.agreed, audit.run.agreed());
    if (!loaded.ok()) return base::Annotate(loaded.status(), "the query's text");
    const crypto::Digest text = crypto::Sha256(base::AsBytes(loaded->text));
    if (text != query.text) {
      return base::DataLoss("the query has the digest {}, the record says {}", base::ToHex(text),
                            base::ToHex(query.text));
    }
    TACET_RETURN_IF_ERROR(
        base::Annotate(run::CheckQuestions(*loaded, query.answers), "the query's answers"));
    TACET_RETURN_IF_ERROR(base::Annotate(run::CheckMissing(query.answers, audit.run.abstentions),
                                         "the query's answers"));
    if (!model.has_value() || model_is_ != tacet::audit::kReleasedModel) {
      audit.notes.push_back(
          "the query's answers were not computed again: give the released sum, model.f32, with "
          "--model, and the key of its digest with --digest-key");
      return absl::OkStatus();
    }
    return base::Annotate(
        run::CheckAnswers(*loaded, audit.run.terms.back().plan, *model, query.answers),
        "the query's answers");
  }

  std::string file_, signer_;
  std::optional<std::string> model_, digest_key_, document_;
  std::optional<tacet::audit::CheckedDocument> checked_;
  std::string model_is_;  // which of the run's models `model_` holds, in words
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewAuditCommand() {
  std::vector<std::unique_ptr<program::Command>> commands;
  commands.push_back(std::make_unique<WriteCommand>());
  commands.push_back(std::make_unique<VerifyCommand>());
  return std::make_unique<program::CommandGroup>(
      "audit", "write a signed record of a run's privacy guarantee, or verify one",
      std::move(commands));
}

}  // namespace tacet::app::audit
