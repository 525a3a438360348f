#include "tacet/run/table_markup.h"

#include <algorithm>
#include <span>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/base/status.h"

namespace tacet::run {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

// Control characters are blanks: a line break would end a row.
std::string OneLine(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return line;
}

// `text` with the first replacement that fits at each place. `broken` stands between two characters
// of `ligatures` that are the same, which would become one otherwise.
std::string Replaced(std::string_view text, std::span<const Replacement> replacements,
                     std::string_view ligatures, std::string_view broken) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    if (i > 0 && text[i] == text[i - 1] && ligatures.find(text[i]) != text.npos) result += broken;
    const auto found = std::ranges::find_if(replacements, [&](const Replacement& each) {
      return text.substr(i).starts_with(each.first);
    });
    result += found == replacements.end() ? text.substr(i, 1) : found->second;
    i += found == replacements.end() ? 1 : found->first.size();
  }
  return result;
}

std::string Html(std::string_view text) {
  static constexpr Replacement kReplacements[] = {
      {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}};
  return Replaced(OneLine(text), kReplacements, "", "");
}

// Without packages, in any encoding of fonts. The brackets and the star would be an argument of the
// line break in front of a row.
std::string Latex(std::string_view text) {
  static constexpr Replacement kReplacements[] = {{"\\", "\\textbackslash{}"},
                                                  {"{", "\\{"},
                                                  {"}", "\\}"},
                                                  {"$", "\\$"},
                                                  {"&", "\\&"},
                                                  {"#", "\\#"},
                                                  {"%", "\\%"},
                                                  {"_", "\\_"},
                                                  {"^", "\\textasciicircum{}"},
                                                  {"~", "\\textasciitilde{}"},
                                                  {"<", "\\textless{}"},
                                                  {">", "\\textgreater{}"},
                                                  {"|", "\\textbar{}"},
                                                  {"\"", "\\char34{}"},
                                                  {"?`", "?{}`"},
                                                  {"!`", "!{}`"},
                                                  {"[", "{[}"},
                                                  {"]", "{]}"},
                                                  {"*", "{*}"},
                                                  {"✕", "$\\times$"},
                                                  {"±", "$\\pm$"},
                                                  {"−", "$-$"},
                                                  {"∞", "$\\infty$"}};
  return Replaced(OneLine(text), kReplacements, "-`',", "{}");
}

// A backslash in front of each character that may mean something. A bar would end the cell, also
// behind a backslash, so it is an entity.
std::string Markdown(std::string_view text) {
  static constexpr Replacement kReplacements[] = {
      {"\\", "\\\\"}, {"`", "\\`"},     {"*", "\\*"},   {"_", "\\_"}, {"{", "\\{"}, {"}", "\\}"},
      {"[", "\\["},   {"]", "\\]"},     {"<", "\\<"},   {">", "\\>"}, {"#", "\\#"}, {"!", "\\!"},
      {"~", "\\~"},   {"&", "\\&"},     {"^", "\\^"},   {"$", "\\$"}, {"@", "\\@"}, {"\"", "\\\""},
      {"'", "\\'"},   {"://", "\\://"}, {"|", "&#124;"}};
  return Replaced(OneLine(text), kReplacements, "-.", "\\");
}

std::string Csv(std::string_view text) {
  const std::string line = OneLine(text);
  const size_t first = line.find_first_not_of(' ');
  const bool is_formula =
      first != line.npos && std::string_view("=+-@").find(line[first]) != std::string_view::npos;
  static constexpr Replacement kReplacements[] = {{"\"", "\"\""}};
  return fmt::format("\"{}{}\"", is_formula ? "'" : "", Replaced(line, kReplacements, "", ""));
}

using Cells = std::vector<std::string>;

Cells Each(const Cells& cells, std::string (*markup)(std::string_view)) {
  Cells result;
  for (const std::string& cell : cells) result.push_back(markup(cell));
  return result;
}

std::string HtmlText(const PaperTable& table) {
  const auto row_of = [](const Cells& cells, std::string_view others, std::string_view scope) {
    std::string row = "<tr>";
    for (size_t i = 0; i < cells.size(); ++i) {
      const bool is_name = i == 0 || others == "th";
      row += is_name ? fmt::format("<th scope=\"{}\">{}</th>", scope, Html(cells[i]))
                     : fmt::format("<td>{}</td>", Html(cells[i]));
    }
    return row + "</tr>\n";
  };
  std::string text = fmt::format("<table>\n<caption>{}</caption>\n<thead>\n{}</thead>\n<tbody>\n",
                                 Html(table.caption), row_of(table.titles, "th", "col"));
  for (const Cells& row : table.rows) text += row_of(row, "td", "row");
  return text + fmt::format(
                    "</tbody>\n<tfoot>\n<tr><td colspan=\"{}\">{}</td></tr>\n</tfoot>\n"
                    "</table>\n",
                    table.titles.size(), Html(table.note));
}

std::string LatexText(const PaperTable& table) {
  std::string text = fmt::format(
      "\\begin{{table}}\n\\caption{{{}}}\n\\begin{{tabular}}{{l{}}}\n\\hline\n{} \\\\\n\\hline\n",
      Latex(table.caption), std::string(table.titles.size() - 1, 'r'),
      fmt::join(Each(table.titles, &Latex), " & "));
  for (const Cells& row : table.rows) {
    text += fmt::format("{} \\\\\n", fmt::join(Each(row, &Latex), " & "));
  }
  return text + fmt::format("\\hline\n\\end{{tabular}}\n\n{{\\footnotesize {}}}\n\\end{{table}}\n",
                            Latex(table.note));
}

std::string MarkdownText(const PaperTable& table) {
  const auto row_of = [](const Cells& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
  };
  Cells rules(table.titles.size(), "---:");
  rules[0] = ":---";
  std::string text = fmt::format("Table: {}\n\n{}{}", Markdown(table.caption),
                                 row_of(Each(table.titles, &Markdown)), row_of(rules));
  for (const Cells& row : table.rows) text += row_of(Each(row, &Markdown));
  return text + fmt::format("\n{}\n", Markdown(table.note));
}

std::string CsvText(const PaperTable& table) {
  std::string text = fmt::format("{}\n", fmt::join(Each(table.titles, &Csv), ","));
  for (const Cells& row : table.rows) text += fmt::format("{}\n", fmt::join(Each(row, &Csv), ","));
  return text;
}

}  // namespace

const std::vector<std::string>& TableMarkupNames() {
  static const std::vector<std::string> names = {"html", "csv", "latex", "markdown"};
  return names;
}

absl::StatusOr<TableMarkup> ParseTableMarkup(std::string_view name) {
  const std::vector<std::string>& names = TableMarkupNames();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    return base::InvalidArgument("\"{}\" is no markup of a table: expected one of {}", name,
                                 fmt::join(names, ", "));
  }
  return static_cast<TableMarkup>(found - names.begin());
}

std::string TableText(const PaperTable& table, TableMarkup markup) {
  switch (markup) {
    case TableMarkup::kHtml:
      return HtmlText(table);
    case TableMarkup::kCsv:
      return CsvText(table);
    case TableMarkup::kLatex:
      return LatexText(table);
    case TableMarkup::kMarkdown:
      return MarkdownText(table);
  }
  return "";
}

}  // namespace tacet::run
