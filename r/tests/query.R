# Queries as text: quotes, numbers, formulas, and what is refused.
library(tacet)
source(file.path("helpers", "checks.R"))

line_of <- function(question, key) {
  lines <- strsplit(format(tacet_query(question, target_epsilon = 1)), "\n")[[1]]
  sub("^[^=]* = ", "", lines[startsWith(lines, paste0(key, " = "))])
}

# A text stays one text, whatever it holds.
texts <- c(
  "plain", "a \"quoted\" one", "C:\\new\\table", "two\nlines\r\n", "\ttab", "]\n[privacy]\n# \"",
  "'''", "M\u00fcller \u2715 \U0001F600", "\001\037\177", "$HOME `id` $(id)", ""
)
for (text in texts) {
  written <- line_of(tacet_count(name = text), "name")
  stopifnot(!grepl("[[:cntrl:]]", written))
  same(jsonlite::fromJSON(paste0("[", written, "]")), text)
}
latin <- "M\xfcller"
Encoding(latin) <- "latin1"
same(line_of(tacet_count(name = latin), "name"), "\"M\u00fcller\"")
broken <- "M\xfcller"
Encoding(broken) <- "UTF-8"
fails(line_of(tacet_count(name = broken), "name"), "is not valid UTF-8")

# A number is the same one in the file.
numbers <- c(0.1, 1 / 3, 1e5, 1e-5, 123456789.123456789, 2^53, pi * 1e300, 5e-324, -0.3)
edges <- line_of(tacet_histogram("x", tacet_cells(edges = numbers)), "edges")
same(jsonlite::fromJSON(edges), numbers)
same(line_of(tacet_mean("x", 0.1, 100L), "low"), "0.1")
same(line_of(tacet_proportion(~ x == TRUE), "positive"), "1")
for (low in list(NA, Inf, NaN, c(1, 2))) {
  fails(line_of(tacet_mean("x", low, 2), "low"), "low is ")
}

# One value is a list where the key is a list.
same(line_of(tacet_count(where = "sex = f"), "where"), "[\"sex = f\"]")
same(line_of(tacet_quantiles("x", tacet_cells(bins = 2, high = 1), at = 0.5), "quantiles"),
     "[0.5]")
same(line_of(tacet_mean(x ~ g, 0, 1, groups = factor("a")), "groups"), "[\"a\"]")
same(line_of(tacet_histogram("x", tacet_cells(edges = as.Date("2025-01-31") + 0:1)), "edges"),
     "[\"2025-01-31\", \"2025-02-01\"]")

# Formulas name columns.
same(line_of(tacet_mean(~ `a b`, 0, 1), "column"), "\"a b\"")
same(line_of(tacet_mean(age ~ 1, 0, 1), "column"), "\"age\"")
same(line_of(tacet_mean(~ age | sex, 0, 1), "group"), "\"sex\"")
same(line_of(tacet_mean(age ~ sex, 0, 1), "group"), "\"sex\"")
yes <- "ja"
same(line_of(tacet_proportion(died == yes ~ sex), "positive"), "\"ja\"")
same(line_of(tacet_table1(~ b + `a c` + d | g, list(d = 1:2)), "columns"),
     "[\"b\", \"a c\", \"d 1..2\"]")
same(line_of(tacet_survival(Surv(t, e == 2) ~ 1, tacet_cells(bins = 2)), "event_value"), "2")

# Mistakes are named.
fails(tacet_count(nam = "x"), "unknown argument \"nam\"")
fails(tacet_count("x"), "unknown argument \"\"")
fails(tacet_mean("x", 0, 1, group = "sex"), "unknown argument \"group\"")
fails(tacet_query(tacet_count(), delt = 1), "argument delt is no question")
fails(tacet_query("count"), "argument 1 is no question")
fails(tacet_mean(age + b ~ sex, 0, 1), "\"age + b\" is no column")
fails(tacet_mean(~ age + b, 0, 1), "about one column")
fails(tacet_mean(age ~ sex + arm, 0, 1), "not sex and arm")
fails(tacet_mean(age ~ log(sex), 0, 1), "\"log(sex)\" is no column")
fails(tacet_mean(5, 0, 1), "give a formula")
fails(tacet_survival(Surv(days, died) ~ 1, tacet_cells(bins = 2)), "write column == value")
fails(tacet_survival(days ~ 1, tacet_cells(bins = 2)), "write Surv(time, event == value)")
fails(tacet_histogram("x", 1:3), "tacet_cells()")
fails(tacet_crosstab(~ a, tacet_cells(), tacet_cells()), "two columns")
fails(tacet_evaluation(ill == 1 ~ a + b, tacet_cells(bins = 2)), "label == value ~ score")
fails(tacet_regression(ill ~ a, list(a = 1:2)), "write column == value")
fails(tacet_table1(~ a | g, list(z = 1:2)), "bounds has \"z\"")
fails(tacet_table1(~ a | g, list(a = 3)), "bounds of \"a\"")
fails(tacet_table1(a ~ g), "~ age + sex | arm")
fails(tacet_write_query("text", tempfile()), "query is no query")

# The name of an argument is that of the question, unless it has one.
query <- tacet_query(a = tacet_count(), b = tacet_count(name = "c"), target_epsilon = 1)
stopifnot(grepl("name = \"a\"", format(query)), grepl("name = \"c\"", format(query)),
          !grepl("name = \"b\"", format(query)))
path <- tempfile()
tacet_write_query(query, path)
same(paste0(paste(readLines(path), collapse = "\n"), "\n"), paste0(format(query), "\n"))
