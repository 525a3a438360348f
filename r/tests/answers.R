# Files of answers, honest and broken: what R reads, prints and draws of them.
library(tacet)
source(file.path("helpers", "checks.R"))
source(file.path("helpers", "runs.R"))

printed <- function(answers, colour = FALSE) {
  old <- options(tacet.colour = colour)
  on.exit(options(old))
  capture.output(print(answers))
}
red <- "\033[31m"
words <- "more than 5 % of the rows"

# Only the run says whether too many rows were left out: its share alone says nothing.
for (share in c("0.0499", "0.05", "0.0501", "0.9")) {
  for (flag in c("", ", \"too_many\": false", ", \"too_many\": true")) {
    run <- run_with(c(
      estimate("mean", "60", ", \"noise_error\": 0.5, \"low\": 59, \"high\": 61"),
      estimate("left out", "50", paste0(", \"low\": 40, \"high\": 60", flag)),
      estimate("left-out share", share, paste0(", \"low\": 0.04, \"high\": 0.95", flag))
    ))
    answers <- tacet_answers(run)
    is_told <- grepl("true", flag)
    same(as.data.frame(answers)$too_many, c(FALSE, is_told, is_told))
    same(summary(answers)$questions$too_many, is_told)
    same(summary(answers)$questions$left_out_share, as.numeric(share))
    plain <- printed(answers)
    coloured <- printed(answers, colour = TRUE)
    same(sum(grepl(words, plain)), if (is_told) 2L else 0L)
    stopifnot(!any(grepl("\033", plain)))
    same(startsWith(coloured, red), grepl(words, coloured))
    same(grepl(words, coloured), grepl(words, plain))
    same(grepl(words, capture.output(print(summary(answers))))[1], is_told)
  }
}
# Without a terminal, and with NO_COLOR, words alone tell it.
options(tacet.colour = NULL)
stopifnot(!any(grepl("\033", capture.output(print(answers)))))

# A site without data in the answers is named.
told <- printed(tacet_answers(run_with(
  estimate("mean", "60"), missing = "[{\"member\": 2, \"site\": \"north\", \"cause\": \"budget\"}]"
)))
stopifnot("missing     no data of north are in the answers (budget)" %in% told)
stopifnot(!any(grepl("^missing", plain)))
for (broken in c("null", "{}", "[{\"site\": 3}]", "[1]")) {
  fails(tacet_answers(run_with(estimate("mean", "60"), missing = broken)),
        "is missing, or not of its type")
}

# Withheld answers are NA, and are called suppressed.
hidden <- tacet_answers(run_with(c(
  estimate("mean", "null", ", \"suppressed\": true"),
  estimate("left out", "null", ", \"suppressed\": true, \"too_many\": true"),
  estimate("cumulative hazard", "1", ", \"low\": 0.5, \"high\": null")
)))
rows <- as.data.frame(hidden)
same(rows$value, c(NA, NA, 1))
same(rows$low, c(NA, NA, 0.5))
same(rows$high, c(NA, NA, Inf))
same(sum(grepl("suppressed", printed(hidden))), 2L)
same(sum(grepl(words, printed(hidden))), 1L)
stopifnot(any(grepl("0.5 to inf", printed(hidden), fixed = TRUE)))
same(unname(confint(hidden)[, 2]), c(NA, NA, Inf))
same(summary(hidden)$questions$suppressed, 2L)
same(summary(hidden)$questions$left_out, NA_real_)

# A kind that this version does not know has numbers, and a warning.
told <- tryCatch(tacet_answers(run_with(estimate("mode", "3"), kind = "mode")),
                 warning = conditionMessage)
stopifnot(grepl("unknown kind \"mode\"", told))
strange <- suppressWarnings(tacet_answers(run_with(estimate("mode", "3"), kind = "mode")))
same(as.data.frame(strange)$value, 3)
stopifnot(any(grepl("age (mode)", printed(strange), fixed = TRUE)))
fails(plot(strange, 1), "has no picture; it has: none")

# Broken files are refused, with their name and the member.
for (value in c("NaN", "Infinity", "\"60\"", "true", "[1, 2]", "{}", "1e999")) {
  fails(tacet_answers(run_with(estimate("mean", value))), "answers.json")
}
fails(tacet_answers(run_with("{\"quantity\": \"mean\"}")), "\"value\"")
fails(tacet_answers(run_with("{\"value\": 1}")), "\"quantity\"")
fails(tacet_answers(run_with("5")), "answers.json")
fails(tacet_answers(run_with(estimate("mean", "1", ", \"low\": \"x\""))), "\"low\"")
fails(tacet_answers(run_with(estimate("mean", "1", ", \"too_many\": \"no\""))), "\"too_many\"")
fails(tacet_answers(run_with(estimate("mean", "1", ", \"group\": 5"))), "\"group\"")
fails(tacet_answers(run_with(file = "{}")), "\"questions\"")
fails(tacet_answers(run_with(file = "[]")), "\"questions\"")
fails(tacet_answers(run_with(file = "7")), "no JSON object")
fails(tacet_answers(run_with(file = "{\"questions\": [{\"name\": \"a\"}]}")), "\"estimates\"")
fails(tacet_answers(run_with(file = "{\"questions\": [")), "is no JSON")
fails(tacet_answers(tempfile()), "holds no answers")
# A name that a path or an address could be is text, never read.
fails(tacet_answers(run_with(file = file.path(run, "answers.json"))), "is no JSON")

# Texts of a file do not steer the terminal.
evil <- tacet_answers(run_with(estimate("me\\u001b[2Jan", "1", ", \"group\": \"g\\u0007\\n\"")))
stopifnot(!any(grepl("\033|\007", printed(evil))))
same(as.data.frame(evil)$quantity, "me\033[2Jan")

# The cost is that of summary.json; a run without a guarantee states none.
private <- tacet_answers(run_with(
  estimate("mean", "1"), summary = "{\"delta\": 1e-5, \"privacy\": {\"worst\": {\"epsilon\": 2}}}"
))
stopifnot(any(grepl("epsilon 2.000 at delta 1e-05 per record", printed(private))))
open <- tacet_answers(run_with(
  estimate("mean", "1"), summary = "{\"delta\": 1e-5, \"privacy\": {\"worst\": null}}"
))
stopifnot(!any(grepl("epsilon", printed(open))))
empty <- tacet_answers(run_with(character()))
same(nrow(as.data.frame(empty)), 0L)
same(nrow(summary(empty)$questions), 1L)
stopifnot(length(printed(empty)) > 0)

# Pictures of numbers that are suppressed, unbounded or alone.
grDevices::pdf(NULL)
curve <- function(values) {
  unlist(Map(function(at, value) {
    ends <- if (value == "null") "" else sprintf(", \"low\": %s, \"high\": 1", value)
    c(estimate("survival", value, sprintf("%s, \"at\": \"%d\"", ends, at)),
      estimate("at risk", value, sprintf(", \"at\": \"%d\"", at - 10L)))
  }, seq(10L, by = 10L, along.with = values), values))
}
plot(tacet_answers(run_with(curve(c("0.9", "0.8", "null", "0.7")), "survival")))
plot(tacet_answers(run_with(curve("null"), "survival")))
plot(tacet_answers(run_with(c(estimate("mean", "null", ""), estimate("mean", "1", ", \"high\": null,
     \"low\": 0.5, \"group\": \"b\"")))))
plot(tacet_answers(run_with(estimate("mean", "null", ""))))
plot(tacet_answers(run_with(c(estimate("count", "5", ", \"at\": \"a\", \"low\": 5, \"high\": 5"),
                              estimate("count", "null", ", \"at\": \"b\"")), "histogram")))
fails(plot(answers, "age", "roc"), "has no picture \"roc\"; it has: mean")
fails(plot(tacet_answers(run_with(estimate("coefficient", "1", ""), "regression"))),
      "no answer here has a picture")
invisible(grDevices::dev.off())
