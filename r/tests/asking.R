# Queries that the program answers, and what R shows of them.
library(tacet)
source(file.path("helpers", "checks.R"))
source(file.path("helpers", "program.R"))
source(file.path("helpers", "hospitals.R"))

work <- tempfile("work-")
dir.create(work)
left_behind <- function() setdiff(list.files(tempdir(), "^tacet-"), "")
ask <- function(query, data, ..., out = tempfile("run-")) {
  tacet_ask(query, data, ..., out = out, insecure_seed = 5)
}

# Every kind of question. The numbers are those of answers.csv, which the program wrote itself.
answers <- ask(every_kind_query, hospitals)
known <- c("count", "sum", "mean", "variance", "normalise", "histogram", "crosstab", "quantiles",
           "median", "survival", "proportion", "evaluation", "regression", "table1")
found <- as.data.frame(answers)
same(sort(unique(found$kind)), sort(known))
written <- utils::read.csv(
  file.path(answers$path, "answers.csv"), colClasses = "character", encoding = "UTF-8"
)
for (key in c("question", "kind", "quantity", "group", "at")) same(found[[key]], written[[key]])
for (key in c("value", "noise_error", "standard_error", "low", "high")) {
  figures <- as.numeric(sub("inf", "Inf", written[[key]], fixed = TRUE))
  for (kind in known) {
    rows <- found$kind == kind
    same(found[[key]][rows], figures[rows])
    if (key == "value") stopifnot(any(!is.na(figures[rows])))
  }
}
same(found$too_many, written$too_many == "true")
intervals <- confint(answers)
same(unname(intervals[, 1]), found$low)
same(unname(intervals[, 2]), found$high)
same(colnames(intervals), c("2.5 %", "97.5 %"))
age <- confint(answers, "age")
same(rownames(age)[3], "age: mean")
stopifnot(age[3, 1] < 60, age[3, 2] > 60, diff(age[3, ]) < 8)
fails(confint(answers, level = 0.9), "ask with confidence = 0.9")
fails(answers["nobody"], "no question is called \"nobody\"")

# The curve is Kaplan and Meier's of all patients together, but for the noise and the cells.
if (requireNamespace("survival", quietly = TRUE)) {
  pooled <- do.call(rbind, hospitals)
  curve <- found[found$question == "survival" & found$quantity == "survival", ]
  same(nrow(curve), 30L)
  for (sex in c("f", "m")) {
    exact <- survival::survfit(
      survival::Surv(days, died) ~ 1, data = pooled[tolower(pooled$sex) == sex, ]
    )
    mine <- curve[curve$group == sex, ]
    distance <- abs(summary(exact, times = as.numeric(mine$at))$surv - mine$value)
    stopifnot(max(distance) > 0, max(distance) < 0.06)
  }
}

# The same tables as files give the same bytes: R wrote each value as it is.
folder <- file.path(work, "tables")
dir.create(folder)
for (site in names(hospitals)) {
  utils::write.csv(hospitals[[site]], file.path(folder, paste0(site, ".csv")), row.names = FALSE)
}
query <- file.path(work, "query.toml")
tacet_write_query(every_kind_query, query)
digest <- function(run) unname(tools::md5sum(file.path(run, c("answers.json", "model.f32"))))
from_files <- ask(query, folder)
same(digest(from_files$path), digest(answers$path))
paths <- file.path(folder, paste0(names(hospitals), ".csv"))
Sys.chmod(paths, "0600")
same(digest(ask(every_kind_query, paths)$path), digest(answers$path))
same(digest(ask(every_kind_query, c(list(aachen = hospitals$aachen), setNames(
  as.list(paths[2:3]), c("bonn", "celle")
)))$path), digest(answers$path))
# Links were removed, and their files are as they were.
same(as.character(file.mode(paths)), rep("600", length(paths)))

# R prints what the console prints.
run <- tempfile("run-")
console <- system2(
  "tacet", c("statistics", shQuote(query), "--data", shQuote(folder), "--insecure-seed", 5, "--out",
             shQuote(run)), stdout = TRUE
)
Encoding(console) <- "UTF-8"
shown <- capture.output(print(answers))
console <- console[which(console == "women (count), intervals of 95 %"):length(console)]
last <- length(shown)
same(shown[2:(last - 1)], console[-length(console)])
stopifnot(startsWith(shown[last], "results     "), any(grepl("suppressed", shown)))
table <- tacet_table(answers, "baseline")
same(names(table), c("characteristic", "0", "1", "noise"))
same(table$characteristic[1:3], c("n", "age, mean (sd)", "age, median [IQR]"))
fails(tacet_table(answers, "age"), "is of kind mean: only table1 has a table")

# Names of files are names, and nothing that a shell reads.
odd <- file.path(work, "a b's \"c\" $HOME `touch hit` \u00fc;&")
dir.create(odd)
odd_query <- file.path(odd, "-q $(touch hit).toml")
stopifnot(file.copy(query, odd_query))
odd_answers <- ask(odd_query, folder, out = file.path(odd, "run 'x' $PATH"))
same(digest(odd_answers$path), digest(answers$path))
stopifnot(!any(file.exists("hit", file.path(odd, "hit"))))
home <- setwd(odd)
same(digest(ask("-q $(touch hit).toml", folder, out = "-out")$path), digest(answers$path))
setwd(home)

# Texts of a query come back as they were.
name <- "a \"quoted\" 'name'\\ $x \u00fc\u2715"
same(as.data.frame(ask(tacet_query(tacet_count(name = name), noise_multiplier = 1),
                       hospitals))$question, name)

# Bytes of UTF-8 are letters in the C locale, too: in tables, in queries and in names of files.
locale <- Sys.getlocale("LC_CTYPE")
invisible(Sys.setlocale("LC_CTYPE", "C"))
bytes <- "M\xc3\xbcller"
names <- list(a = data.frame(name = rep(bytes, 1000)), b = data.frame(name = rep(bytes, 1000)))
there <- file.path(work, bytes)
dir.create(there)
tacet_write_query(tacet_query(
  named = tacet_histogram("name", tacet_cells(categories = c("M\u00fcller", "other"))),
  target_epsilon = 1, values = "name one-of=M\u00fcller,other"
), file.path(there, "query.toml"))
in_c <- ask(file.path(there, "query.toml"), names, out = file.path(there, "run"))
invisible(Sys.setlocale("LC_CTYPE", locale))
same(in_c$questions$named$estimates$at[2], "M\u00fcller")
stopifnot(abs(in_c$questions$named$estimates$value[2] - 2000) < 100)

# Fields: missing values, quotes, line breaks, truth values, dates and rows without anything.
fields <- data.frame(
  text = c("a,\"b\"", "two\nlines", NA, "\u00fc; ", NA),
  flag = c(TRUE, FALSE, NA, TRUE, NA),
  number = c(1e-5, 1e5, NaN, 1 / 3, NA),
  day = as.Date(c("2025-01-31", NA, "2025-02-01", "2025-02-02", NA)),
  time = as.POSIXct(c("2025-01-31 23:59", NA, "2025-02-01", "2025-02-02", NA), tz = "Asia/Tokyo"),
  check.names = FALSE
)
fields <- fields[rep(1:5, 400), ]
exact <- ask(tacet_query(
  rows = tacet_count(),
  texts = tacet_histogram("text", tacet_cells(categories = c("a,\"b\"", "two lines", "\u00fc;"))),
  flags = tacet_histogram("flag", tacet_cells(categories = 0:1)),
  numbers = tacet_histogram("number", tacet_cells(edges = c(0, 1e-5, 0.3, 1, 99999, 1e5))),
  days = tacet_histogram("day", tacet_cells(edges = as.Date("2025-01-31") + 0:3)),
  times = tacet_histogram("time", tacet_cells(edges = as.Date("2025-01-31") + 0:3)),
  target_epsilon = 40, max_units = 2000,
  values = c("text one-of='a,\"b\"','two lines',\u00fc;", "day date", "time date")
), list(one = fields, two = fields))
counts <- function(question) {
  rows <- as.data.frame(exact[question])
  # In units of 400 rows, of which the noise is a few.
  round(rows$value[rows$quantity %in% c("count", "left out")] / 400, 1)
}
same(counts("rows"), 10)
same(counts("texts"), c(6, 2, 2, 2, 4))
same(counts("flags"), c(6, 2, 4, 4))
same(counts("numbers"), c(6, 0, 2, 2, 0, 2, 4))
same(counts("days"), c(6, 2, 2, 2, 4))
same(counts("times"), c(6, 2, 2, 2, 4))

# A column of sites in one data frame.
stacked <- do.call(rbind, Map(function(site, table) cbind(site = site, table), names(hospitals),
                              hospitals))
by_column <- ask(tacet_query(age = tacet_mean("age", 20, 100, sites = "bonn"),
                             target_epsilon = 20, site_column = "site"), stacked)
stopifnot(abs(as.data.frame(by_column)$value[1] - nrow(hospitals$bonn)) < 20,
          abs(as.data.frame(by_column)$value[3] - mean(hospitals$bonn$age)) < 2)

# Too many rows that are left out.
half <- transform(hospitals$aachen, age = ifelse(seq_along(age) %% 2 == 0, NA, age))
many <- ask(tacet_query(age = tacet_mean("age", 20, 100), target_epsilon = 2, max_units = 1000),
            list(aachen = half, bonn = half))
same(sum(grepl("more than 5 % of the rows", capture.output(print(many)))), 2L)
same(summary(many)$questions$too_many, TRUE)
same(sum(grepl("more than 5 % of the rows", capture.output(print(summary(many))))), 1L)
stopifnot(abs(summary(many)$questions$left_out - 400) < 100)

# Fields that cannot be read are a warning; the query is answered.
told <- character()
dirty <- hospitals
dirty$bonn$age <- c(dirty$bonn$age[-1], "sixty")
invisible(withCallingHandlers(
  ask(tacet_query(age = tacet_mean("age", 20, 100), target_epsilon = 1), dirty),
  warning = function(remark) {
    told <<- c(told, conditionMessage(remark))
    invokeRestart("muffleWarning")
  }
))
same(length(told), 1L)
stopifnot(grepl("\"sixty\"", told), grepl("Such fields count as missing", told))

# Errors are the program's, with its status.
one <- tacet_query(age = tacet_mean("age", 20, 100), target_epsilon = 1)
fault <- fails(ask(one, list(a = data.frame(years = 1:3), b = hospitals$bonn)),
               "there is no column \"age\"")
stopifnot(inherits(fault, "tacet_error"), fault$status == 1, is.null(conditionCall(fault)),
          !startsWith(conditionMessage(fault), "tacet:"))
fails(ask(one, hospitals, out = answers$path), "is not empty")
fails(ask(tacet_query(tacet_count()), hospitals), "target_epsilon")
fails(tacet_ask(one, hospitals, insecure_seed = "x", out = tempfile()), "insecure-seed")
fails(ask(one, list()), "data is no table")
fails(ask(one, unname(hospitals)), "data is no table")
fails(ask(one, list(a = hospitals$bonn, a = hospitals$bonn)), "two tables are called \"a\"")
fails(ask(one, list("../a" = hospitals$bonn)), "cannot name a site's file")
fails(ask(one, list(".a" = hospitals$bonn)), "cannot name a site's file")
fails(ask(one, list(a = 1:3)), "the table of site \"a\" is of class integer")
fails(ask(one, list(a = data.frame(z = 1i))), "column \"z\" of site \"a\" is of class complex")
fails(ask(one, list(a = data.frame(z = as.difftime(1, units = "days")))), "difftime")
fails(ask(one, "nowhere"), "there is no file or folder nowhere")
fails(ask(5, hospitals), "query is neither a query nor a path")
broken <- "\xff"
Encoding(broken) <- "UTF-8"
fails(ask(one, list(a = data.frame(z = broken))), "is not valid UTF-8")
program <- options(tacet.program = file.path(work, "nothing"))
fails(ask(one, hospitals), "there is no program")
options(program)

# Data frames touch the disk in a private folder, which is gone afterwards, also after an error.
same(left_behind(), character())
spy <- file.path(work, "spy")
writeLines(c("#!/bin/sh", "for each; do case $each in --data=*)",
             "  stat -c %a \"$(dirname \"${each#--data=}\")\" \"${each#--data=}\" >&2;; esac; done",
             "exit 1"), spy)
Sys.chmod(spy, "0700")
umask <- Sys.umask("000")
program <- options(tacet.program = spy)
fails(ask(one, hospitals), "700\n700")
options(program)
Sys.umask(umask)
same(left_behind(), character())

# The last remark of a program that fails is the error; the others are warnings.
remarks <- "printf 'tacet: one\\nprogress\\ntacet: two,\\n  and more\\n' >&2"
writeLines(c("#!/bin/sh", remarks, "exit 3"), spy)
program <- options(tacet.program = spy)
told <- character()
fault <- tryCatch(
  withCallingHandlers(tacet_site("home", "host:1", "query.R"), warning = function(remark) {
    told <<- c(told, conditionMessage(remark))
    invokeRestart("muffleWarning")
  }),
  tacet_incomplete = identity
)
options(program)
same(conditionMessage(fault), "two,\n  and more")
same(fault$status, 3L)
same(told, "one")
writeLines(c("#!/bin/sh", "exit 4"), spy)
program <- options(tacet.program = spy)
fails(ask(one, hospitals), "tacet ended with status 4")
options(program)

# A site's flags are the program's.
fails(tacet_site(file.path(work, "site"), "127.0.0.1:1", hospitals$bonn, key_file = "none.key"),
      "site")
fails(tacet_site("a", "b", "query.R", nonsense = "x"), "--nonsense")
fails(tacet_site("a", "b", "query.R", "x"), "every option has the name of a flag")
