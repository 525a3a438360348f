// Documents that an officer keeps about a run: an impact assessment, a technical documentation, an
// entry for a registry and a bill of materials, written from an audit and checked against it again.
#ifndef TACET_AUDIT_AUDIT_DOCUMENT_H_
#define TACET_AUDIT_AUDIT_DOCUMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/audit/audit_facts.h"

namespace tacet::audit {

enum class DocumentKind : uint8_t {
  kImpactAssessment,        // "dpia": data protection regulation, Article 35(7)
  kTechnicalDocumentation,  // "annex-iv": AI Act, Annex IV
  kRegistry,                // "registry": Differential Privacy Deployments Registry
  kBillOfMaterials,         // "cyclonedx": bill_of_materials.h
};
inline constexpr std::array kDocumentKinds = {
    DocumentKind::kImpactAssessment, DocumentKind::kTechnicalDocumentation, DocumentKind::kRegistry,
    DocumentKind::kBillOfMaterials};
std::string_view DocumentKindName(DocumentKind kind);
absl::StatusOr<DocumentKind> ParseDocumentKind(std::string_view name);
// Its file's name: the word and ".md", or ".json" of the bill.
std::string DocumentFile(DocumentKind kind);

// A field that people fill in ends so. The program cannot know it.
inline constexpr std::string_view kToFillIn = "______";

// JSON of a bill. Else Markdown, one field a line: the fields that follow from the record, each
// with its figure, and those that people fill in. The same run gives the same bytes.
absl::StatusOr<std::string> AuditDocument(DocumentKind kind, const AuditedRun& run);

struct CheckedDocument {
  DocumentKind kind = DocumentKind::kImpactAssessment;
  size_t filled = 0;                   // fields that people have filled in
  std::vector<std::string> open = {};  // and those that they have not, by their names
  std::vector<std::string> others =
      {};  // lines that are not the program's: nothing vouches for them
};

// Holds a document against the run of a verified record: each line that the program writes is
// there, unchanged and in its order, except for what people filled in. The kind follows from the
// first line. DataLoss names the first line that is missing or was changed.
absl::StatusOr<CheckedDocument> CheckDocument(std::string_view document, const AuditedRun& run);

}  // namespace tacet::audit

#endif  // TACET_AUDIT_AUDIT_DOCUMENT_H_
