#include "tacet/run/paper_table.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/run/table_markup.h"

namespace tacet::run {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::Estimate;
using tacet::statistics::PrintedTable;
using tacet::statistics::QuestionKind;
using tacet::statistics::Range;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Estimate Effect(std::string quantity, std::string group, double value, Range interval) {
  return {.quantity = std::move(quantity),
          .group = std::move(group),
          .value = value,
          .noise_error = 0.1,
          .standard_error = 0.2,
          .interval = interval};
}

Answer Model(std::vector<Estimate> estimates) {
  return {.question = "death", .kind = QuestionKind::kGlm, .estimates = std::move(estimates)};
}

PaperTable TableOf(const Answer& answer) {
  absl::StatusOr<PaperTable> table = PaperTableOf(answer, 0.95);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

TEST(PaperTableTest, AModelShowsItsRatiosWhateverTheirName) {
  for (const std::string ratio : {"odds ratio", "rate ratio", "hazard ratio"}) {
    const PaperTable table =
        TableOf(Model({{.quantity = "count", .value = 812.4, .noise_error = 3.58},
                       Effect("intercept", "", -1, {-2, 0}),
                       Effect("coefficient", "age", 0.05, {0.03, 0.07}),
                       Effect("coefficient", "sex = m", 0.5, {-0.2, 1.2}),
                       Effect("likelihood ratio", "", 7, {1, 9}),
                       Effect(ratio, "age", 1.0513, {1.0305, 1.0725}),
                       {.quantity = ratio, .group = "sex = m"}}));
    EXPECT_EQ(table.caption, "death");
    EXPECT_THAT(table.titles[1], HasSubstr(ratio.substr(1) + " (95 % CI)"));
    EXPECT_THAT(table.rows, ElementsAre(ElementsAre("age", "1.05 (1.03 to 1.07)", "0.100"),
                                        ElementsAre("sex = m", "✕", "✕")));
    EXPECT_THAT(table.note, HasSubstr("n = 812 ± 3.58. CI: interval of 95 %"));
    EXPECT_THAT(table.note, HasSubstr("✕: suppressed."));
  }
}

TEST(PaperTableTest, AModelWithoutRatiosShowsInterceptAndCoefficients) {
  const PaperTable table = TableOf(
      Model({Effect("intercept", "", -1.5, {-2, -1}), Effect("coefficient", "age", -0.05, {-1, 1}),
             Effect("coefficient", "b", 2, {1, std::numeric_limits<double>::infinity()})}));
  EXPECT_THAT(table.titles, ElementsAre("Term", "Coefficient (95 % CI)", "± noise"));
  EXPECT_THAT(table.rows, ElementsAre(ElementsAre("Intercept", "−1.50 (−2.00 to −1.00)", "0.100"),
                                      ElementsAre("age", "−0.0500 (−1.00 to 1.00)", "0.100"),
                                      ElementsAre("b", "2.00 (1.00 to ∞)", "0.100")));
  EXPECT_THAT(table.note, Not(HasSubstr("✕")));
}

// A discriminant has no effects: its coefficients have no intervals.
TEST(PaperTableTest, OtherAnswersAreRefusedByName) {
  Answer slopes = Model({{.quantity = "coefficient", .group = "age", .value = 1}});
  slopes.kind = QuestionKind::kRegression;
  EXPECT_FALSE(HasPaperTable(slopes));
  EXPECT_THAT(PaperTableOf(slopes, 0.95).status().message(),
              HasSubstr("the answer \"death\" is of kind regression: only table1 and models"));
  EXPECT_FALSE(HasPaperTable(Model({{.quantity = "mean", .value = 1}})));
}

TEST(PaperTableTest, BaselineCharacteristicsHaveAColumnForEachGroup) {
  Answer answer{.question = "baseline", .kind = QuestionKind::kTable1};
  answer.table = PrintedTable{
      .by = "arm",
      .groups = {"a", "b"},
      .rows = {{"n", {"40", "50"}, "4.3"}, {"x, mean (sd)", {"-1.2 (0.3)", "✕"}, "0.1"}}};
  const PaperTable table = TableOf(answer);
  EXPECT_EQ(table.caption, "baseline by arm");
  EXPECT_THAT(table.titles, ElementsAre("Characteristic", "a", "b", "± noise"));
  EXPECT_THAT(table.rows, ElementsAre(ElementsAre("n", "40", "50", "4.3"),
                                      ElementsAre("x, mean (sd)", "−1.2 (0.3)", "✕", "0.1")));
}

// All that ends a cell, a row or the table in one of the markups.
const PaperTable kHostile = {.caption = "a & b",
                             .titles = {"=1+1", "50 % | _x_"},
                             .rows = {{"[t] <b>\"'\n", "2"}, {"*", "\\ $x$ {#} ^~ a--b ?`"}},
                             .note = "</table>"};

TEST(TableMarkupTest, HtmlHasNoMarkupOfATexts) {
  EXPECT_EQ(TableText(kHostile, TableMarkup::kHtml), R"(<table>
<caption>a &amp; b</caption>
<thead>
<tr><th scope="col">=1+1</th><th scope="col">50 % | _x_</th></tr>
</thead>
<tbody>
<tr><th scope="row">[t] &lt;b&gt;&quot;&#39; </th><td>2</td></tr>
<tr><th scope="row">*</th><td>\ $x$ {#} ^~ a--b ?`</td></tr>
</tbody>
<tfoot>
<tr><td colspan="2">&lt;/table&gt;</td></tr>
</tfoot>
</table>
)");
}

TEST(TableMarkupTest, LatexShowsEachCharacter) {
  EXPECT_EQ(TableText(kHostile, TableMarkup::kLatex), R"(\begin{table}
\caption{a \& b}
\begin{tabular}{lr}
\hline
=1+1 & 50 \% \textbar{} \_x\_ \\
\hline
{[}t{]} \textless{}b\textgreater{}\char34{}'  & 2 \\
{*} & \textbackslash{} \$x\$ \{\#\} \textasciicircum{}\textasciitilde{} a-{}-b ?{}` \\
\hline
\end{tabular}

{\footnotesize \textless{}/table\textgreater{}}
\end{table}
)");
}

TEST(TableMarkupTest, MarkdownShowsEachCharacter) {
  EXPECT_EQ(TableText(kHostile, TableMarkup::kMarkdown), R"(Table: a \& b

| =1+1 | 50 % &#124; \_x\_ |
| :--- | ---: |
| \[t\] \<b\>\"\'  | 2 |
| \* | \\ \$x\$ \{\#\} \^\~ a-\-b ?\` |

\</table\>
)");
}

TEST(TableMarkupTest, CsvHoldsNoFormula) {
  EXPECT_EQ(TableText(kHostile, TableMarkup::kCsv),
            "\"'=1+1\",\"50 % | _x_\"\n\"[t] <b>\"\"' \",\"2\"\n"
            "\"*\",\"\\ $x$ {#} ^~ a--b ?`\"\n");
  for (const std::string formula : {"=A1", "+1", "-1", "@SUM(A1)", "\t=1", " \r\n=1"}) {
    const std::string text = TableText({.titles = {formula}}, TableMarkup::kCsv);
    EXPECT_TRUE(text.starts_with("\"'")) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  }
  // A number stays unchanged.
  EXPECT_EQ(TableText({.titles = {"−1.5 (−2 to −1)"}}, TableMarkup::kCsv), "\"−1.5 (−2 to −1)\"\n");
}

TEST(TableMarkupTest, AnUnknownMarkupIsRefused) {
  for (const std::string& name : TableMarkupNames()) EXPECT_TRUE(ParseTableMarkup(name).ok());
  EXPECT_THAT(ParseTableMarkup("word").status().message(),
              HasSubstr("expected one of html, csv, latex, markdown"));
}

}  // namespace
}  // namespace tacet::run
