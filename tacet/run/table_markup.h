// Markup of a table: HTML, CSV, LaTeX and Markdown.
#ifndef TACET_RUN_TABLE_MARKUP_H_
#define TACET_RUN_TABLE_MARKUP_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/run/paper_table.h"

namespace tacet::run {

enum class TableMarkup { kHtml, kCsv, kLatex, kMarkdown };

// "html", "csv", "latex" and "markdown", in the order of the type.
const std::vector<std::string>& TableMarkupNames();
absl::StatusOr<TableMarkup> ParseTableMarkup(std::string_view name);

// The table in this markup, ending with a line break. Every text of it is shown unchanged, whatever
// characters it has; control characters are blanks. CSV has titles and rows alone, and a text that
// a spreadsheet would take for a formula has an apostrophe in front. LaTeX needs no package.
std::string TableText(const PaperTable& table, TableMarkup markup);

}  // namespace tacet::run

#endif  // TACET_RUN_TABLE_MARKUP_H_
