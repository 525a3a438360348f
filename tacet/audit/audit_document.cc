#include "tacet/audit/audit_document.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/chrono.h"
#include "fmt/format.h"

#include "tacet/accounting/guarantee_limits.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/audit/audit_record.h"
#include "tacet/audit/bill_of_materials.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/dp/noise_law.h"

namespace tacet::audit {
namespace {

using accounting::Unit;

std::string DayOf(uint64_t seconds) {
  constexpr uint64_t kYear9999 = 253402300799;
  if (seconds > kYear9999) return fmt::format("{} s", seconds);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

// Upwards, in three decimals.
std::string Amount(double epsilon) {
  if (!std::isfinite(epsilon)) return "without a bound";
  return fmt::format("{:.3f}", std::ceil(epsilon * 1000) / 1000);
}

// A name of the agreement on one line, which adds no markup.
std::string Plain(std::string_view name) {
  std::string text;
  for (const char letter : name) {
    const bool plain = letter >= ' ' && letter <= '~' && letter != '`' && letter != '|';
    text += plain ? letter : '?';
  }
  return text;
}

std::string_view Title(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::kImpactAssessment:
      return "# Data protection impact assessment";
    case DocumentKind::kTechnicalDocumentation:
      return "# Technical documentation of an AI system";
    case DocumentKind::kRegistry:
      return "# Entry for the Differential Privacy Deployments Registry";
    case DocumentKind::kBillOfMaterials:
      break;
  }
  return "";
}

class Writer {
 public:
  Writer(const AuditedRun& run, const accounting::Guarantees& guarantees, double charged)
      : run_(run), agreed_(run.agreed()), guarantees_(guarantees), charged_(charged) {}

  std::string Write(DocumentKind kind) && {
    Line(std::string(Title(kind)));
    Heading("Sources");
    Field("Record",
          fmt::format("an audit that {} signed on {}", crypto::KeyFingerprint(run_.facts.signer),
                      DayOf(run_.facts.created)));
    Field("Check", "`tacet audit verify AUDIT --document THIS-FILE` computes every figure again");
    Field("Examined by", "nobody outside of the project has examined tacet or this run");
    switch (kind) {
      case DocumentKind::kImpactAssessment:
        ImpactAssessment();
        break;
      case DocumentKind::kTechnicalDocumentation:
        TechnicalDocumentation();
        break;
      case DocumentKind::kRegistry:
        Registry();
        break;
      case DocumentKind::kBillOfMaterials:
        break;  // JSON
    }
    return std::move(text_);
  }

 private:
  void Line(std::string line) { text_ += std::move(line) + "\n"; }
  void Heading(std::string_view heading) { text_ += fmt::format("\n## {}\n\n", heading); }
  void Field(std::string_view name, std::string_view value) {
    Line(fmt::format("- {}: {}", name, value));
  }
  void Ask(std::string_view name) { Field(name, kToFillIn); }

  void ImpactAssessment() {
    Heading("Processing and its purpose, Article 35(7)(a)");
    Ask("Controller, and joint controllers with their arrangement (Article 26)");
    Ask("Processors, such as the server's operator (Article 28)");
    Ask("Purpose");
    Ask("Legal basis (Articles 6 and 9)");
    Ask("Categories of people and of data");
    Processing();
    Heading("Necessity and proportionality, Article 35(7)(b)");
    Ask("Why the purpose needs these data");
    Ask("Information of the people, their rights, retention");
    Field("Minimisation",
          "tables stay at the sites; clipped, noised and encrypted sums leave them");
    Field("Encryption", Encryption());
    Heading("Risks to the people, Article 35(7)(c)");
    Guarantee();
    Field("Risk that stays",
          fmt::format("what epsilon allows: an observer's odds that one {} took part change by a "
                      "factor of at most e^epsilon, but for delta",
                      accounting::UnitName(agreed_.privacy.unit)));
    Field("Erasure",
          "the part of an erased person in this model stays in it, as epsilon bounds it");
    Limits();
    Ask("Severity and likelihood for the people, as the controller judges them");
    Heading("Measures, Article 35(7)(d)");
    Measures();
    Ask("Advice of the data protection officer (Article 35(2))");
    Ask("Views of the people or their representatives (Article 35(9))");
    Ask("Date of the next review (Article 35(11))");
  }

  void TechnicalDocumentation() {
    Heading("General description, Annex IV(1)");
    Ask("Provider");
    Ask("Intended purpose, and whether the system is high-risk (Article 6)");
    Field("Dates",
          "rules for systems of Annex III apply from 2 December 2027, for medical devices "
          "and other products of Annex I from 2 August 2028");
    Field("Software", fmt::format("tacet {} (commit {})", Plain(run_.facts.version),
                                  Plain(run_.facts.program_commit)));
    Field("Dependencies",
          fmt::format("{} libraries, listed in the record", run_.facts.dependencies.size()));
    Heading("Elements and development, Annex IV(2)");
    Processing();
    Field("Encryption", Encryption());
    Field("Terms", fmt::format("clip norm {:.6g}, noise {:.6g}, {} attempts permitted",
                               agreed_.mechanism.clip_norm, agreed_.mechanism.noise_stddev,
                               agreement::AttemptsIn(run_.permitted())));
    Ask("Origin, selection and labelling of the data (Article 10)");
    Ask("Human oversight (Article 14)");
    Heading("Monitoring and performance, Annex IV(3) and (4)");
    if (run_.facts.result.has_value()) {
      Field("Accuracy",
            fmt::format("{:.3f}, loss {:.2g}, on {} held-out samples", run_.facts.result->accuracy,
                        run_.facts.result->loss, run_.facts.result->samples));
    } else {
      Ask("Accuracy, which this run did not publish");
    }
    Ask("Accuracy for groups of people, which the program did not measure");
    Guarantee();
    Heading("Risks, changes, standards and plans, Annex IV(5) to (9)");
    Limits();
    Measures();
    Ask("Risk management system (Article 9)");
    Ask("Changes over the life cycle");
    Ask("Harmonised standards");
    Ask("Declaration of conformity (Article 47)");
    Ask("Post-market monitoring plan (Article 72)");
  }

  void Registry() {
    Heading("Deployment");
    Ask("Curator, and contact");
    Ask("Intended use, and who may use the result");
    Ask("Reasons for the choice of epsilon, delta and unit");
    Processing();
    Field("Deployment model", "local clipping and noise, secure aggregation under a committee");
    Field("Encryption", Encryption());
    Heading("Guarantee");
    Field("Flavour", "(epsilon, delta)-differential privacy");
    Guarantee();
    Field("Composition", fmt::format("{} attempts permitted, {} charged; what follows a decrypted "
                                     "sum is post-processing",
                                     agreement::AttemptsIn(run_.permitted()), run_.charges()));
    Limits();
    Heading("Mechanism and implementation");
    Field("Mechanism", fmt::format("{} noise of deviation {:.6g}, clip norm {:.6g}",
                                   dp::NoiseLawName(agreed_.mechanism.noise_law),
                                   agreed_.mechanism.noise_stddev, agreed_.mechanism.clip_norm));
    Field("Software", fmt::format("tacet {} (commit {})", Plain(run_.facts.version),
                                  Plain(run_.facts.program_commit)));
    Measures();
    Ask("Utility of the result, and for which groups it was measured");
  }

  void Processing() {
    Field("Model or query", Plain(agreed_.model));
    Field("Population", Plain(run_.ledger.header.population));
    Field("Kind of run", RunKindName(run_.facts.kind));
    Field("Members", fmt::format("{}, at least {} in every sum", agreed_.sampling.clients,
                                 agreed_.sampling.min_participants));
    Field("Rounds", fmt::format("{} of {}{}", run_.complete_rounds(), agreed_.rounds,
                                run_.facts.finished ? "" : ", unfinished"));
    if (!run_.ledger.entries.empty()) {
      Field("Time", fmt::format("{} to {}", DayOf(run_.ledger.entries.front().time),
                                DayOf(run_.ledger.entries.back().time)));
    }
  }

  std::string Encryption() const {
    if (agreed_.without_encryption || agreed_.committee.seats == 0) {
      return "no committee protects single updates";
    }
    return fmt::format(
        "of each update; {} committee members open sums together, and the server with {} of them "
        "opens no single update",
        agreed_.committee.seats, agreed_.committee.corrupt);
  }

  void Guarantee() {
    Field("Protected",
          fmt::format("one {}, {}, at up to {} of the sites",
                      accounting::UnitName(agreed_.privacy.unit),
                      accounting::NeighbouringName(agreed_.privacy.neighbouring),
                      agreed_.privacy.unit == Unit::kClient ? 1 : agreed_.sampling.appearances));
    const accounting::PrivacyRow* const worst = guarantees_.headline();
    if (!run_.has_guarantee() || worst == nullptr || !worst->epsilon.has_value()) {
      Field("Guarantee", "none: this run protects nobody");
    } else {
      Field("Guarantee", fmt::format("epsilon {} at delta {}, against the worst observer ({})",
                                     Amount(*worst->epsilon), agreed_.privacy.delta,
                                     accounting::ObserverName(worst->observer)));
    }
    Field("Colluding members tolerated", fmt::format("{}", agreed_.privacy.colluders));
    Field("Charged",
          fmt::format("{} attempts, a forecast of epsilon {}", run_.charges(), Amount(charged_)));
  }

  // Word for word as everywhere else.
  void Limits() {
    for (const std::string& limit : accounting::LimitsOf(agreement::PrivacyOf(agreed_, 1))) {
      Field("Not guaranteed", limit);
    }
  }

  void Measures() {
    Field("Ledger", fmt::format("charged before anything is sealed; it ends with {}",
                                base::ToHex(run_.facts.ledger_end.head)));
    Field("Integrity",
          "sums carry a MAC; members attest each model; a violation is in the node log");
    Ask("Access to the machines, backups, and contact for incidents");
  }

  const AuditedRun& run_;
  const agreement::ManifestSpec& agreed_;
  const accounting::Guarantees& guarantees_;
  double charged_;
  std::string text_;
};

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::string_view DocumentKindName(DocumentKind kind) {
  switch (kind) {
    case DocumentKind::kImpactAssessment:
      return "dpia";
    case DocumentKind::kTechnicalDocumentation:
      return "annex-iv";
    case DocumentKind::kRegistry:
      return "registry";
    case DocumentKind::kBillOfMaterials:
      return "cyclonedx";
  }
  return "";
}

absl::StatusOr<DocumentKind> ParseDocumentKind(std::string_view name) {
  for (const DocumentKind kind : kDocumentKinds) {
    if (DocumentKindName(kind) == name) return kind;
  }
  return base::InvalidArgument(
      "unknown document \"{}\": expected dpia, annex-iv, registry or "
      "cyclonedx",
      name);
}

std::string DocumentFile(DocumentKind kind) {
  return fmt::format("{}.{}", DocumentKindName(kind),
                     kind == DocumentKind::kBillOfMaterials ? "json" : "md");
}

absl::StatusOr<std::string> AuditDocument(DocumentKind kind, const AuditedRun& run) {
  if (kind == DocumentKind::kBillOfMaterials) {
    TACET_ASSIGN_OR_RETURN(const base::JsonValue bill, BillOfMaterials(run));
    return bill.Dump(2) + "\n";
  }
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees, AuditedGuarantees(run));
  TACET_ASSIGN_OR_RETURN(const double charged, ChargedEpsilonOf(run));
  return Writer(run, guarantees, charged).Write(kind);
}

absl::StatusOr<CheckedDocument> CheckDocument(std::string_view document, const AuditedRun& run) {
  if (document.starts_with('{')) {
    CheckedDocument bill{.kind = DocumentKind::kBillOfMaterials};
    TACET_ASSIGN_OR_RETURN(bill.others, CheckBillOfMaterials(document, run));
    return bill;
  }
  const std::vector<std::string_view> found = LinesOf(document);
  const auto kind = std::ranges::find_if(kDocumentKinds, [&](DocumentKind known) {
    return !found.empty() && known != DocumentKind::kBillOfMaterials &&
           found.front() == Title(known);
  });
  if (kind == kDocumentKinds.end()) {
    return base::DataLoss("the document does not begin with the title of one that tacet writes");
  }
  TACET_ASSIGN_OR_RETURN(const std::string text, AuditDocument(*kind, run));
  CheckedDocument checked{.kind = *kind};
  size_t at = 0;
  for (const std::string_view line : LinesOf(text)) {
    const bool asks = line.ends_with(kToFillIn);
    const std::string_view name = asks ? line.substr(0, line.size() - kToFillIn.size()) : line;
    // Its field's name without the blank, which an editor may have dropped.
    const std::string_view begins = asks ? name.substr(0, name.size() - 1) : name;
    const size_t before = at;
    while (at < found.size() && !(asks ? found[at].starts_with(begins) : found[at] == line)) {
      checked.others.emplace_back(found[at++]);
    }
    if (at == found.size()) {
      return base::DataLoss(
          "the record gives the line \"{}\", which the document lacks after \"{}\"", line,
          before == 0 ? "its beginning" : found[before - 1]);
    }
    if (asks) {
      const std::string_view value = found[at].substr(begins.size());
      const bool open = value.empty() || value.find(kToFillIn) != std::string_view::npos;
      if (open) {
        checked.open.emplace_back(begins.substr(2, begins.size() - 3));
      } else {
        ++checked.filled;
      }
    }
    ++at;
  }
  for (; at < found.size(); ++at) checked.others.emplace_back(found[at]);
  return checked;
}

}  // namespace tacet::audit
