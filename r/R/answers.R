# Answers of a run, as answers.json has them.

KINDS <- c(
  "count", "sum", "mean", "variance", "normalise", "histogram", "crosstab", "quantiles", "median",
  "survival", "proportion", "evaluation", "regression", "table1", "glm", "cox"
)

tacet_answers <- function(path) {
  file <- file.path(path, "answers.json")
  if (!file.exists(file)) {
    stop(path, " holds no answers: give the run directory of a query that has ended",
         call. = FALSE)
  }
  told <- read_json(file)
  questions <- lapply(member(told, "questions", is.list, file), question_of, file = file)
  names(questions) <- vapply(questions, function(each) each$name, "")
  strange <- setdiff(vapply(questions, function(each) each$kind, ""), KINDS)
  if (length(strange)) {
    warning(sprintf("%s has questions of the unknown kind \"%s\": their numbers are there", file,
                    strange[1]), call. = FALSE)
  }
  structure(list(
    path = path,
    name = member(told, "name", is_text, file),
    unit = member(told, "unit", is_text, file),
    confidence = member(told, "confidence", is_number, file),
    noise_law = member(told, "noise_law", is_text, file),
    noise = member(told, "noise", is_text, file),
    missing = missing_sites(member(told, "missing", is_list, file), file),
    questions = questions,
    privacy = privacy_of(file.path(path, "summary.json"))
  ), class = "tacet_answers")
}

read_json <- function(file) {
  text <- paste(readLines(file, encoding = "UTF-8", warn = FALSE), collapse = "\n")
  told <- tryCatch(
    jsonlite::parse_json(text),
    error = function(fault) stop(file, " is no JSON: ", conditionMessage(fault), call. = FALSE)
  )
  if (!is.list(told)) stop(file, " is no JSON object", call. = FALSE)
  told
}

is_list <- function(value) is.list(value) && is.null(names(value))
is_text <- function(value) is.character(value) && length(value) == 1
is_flag <- function(value) is.logical(value) && length(value) == 1 && !is.na(value)
is_number <- function(value) is.numeric(value) && length(value) == 1 && is.finite(value)

# A member that has to be there and of its type.
member <- function(object, key, is_right, file) {
  value <- if (is.list(object)) object[[key]]
  if (is_right(value)) return(value)
  stop(sprintf("%s: \"%s\" is missing, or not of its type", file, key), call. = FALSE)
}

# Sites whose data are not in the answers, and why.
missing_sites <- function(sites, file) {
  column <- function(key) vapply(sites, member, "", key = key, is_right = is_text, file = file)
  data.frame(site = column("site"), cause = column("cause"))
}

# Epsilon of the worst observer for all answers together; NULL without a guarantee.
privacy_of <- function(file) {
  if (!file.exists(file)) return(NULL)
  told <- read_json(file)
  epsilon <- told[["privacy"]][["worst"]][["epsilon"]]
  if (is_number(epsilon)) list(epsilon = epsilon, delta = member(told, "delta", is_number, file))
}

question_of <- function(told, file) {
  estimates <- member(told, "estimates", is.list, file)
  # A figure of each estimate; `absent` where it has none.
  column <- function(key, is_right, absent) {
    vapply(estimates, function(each) {
      if (is.null(each[[key]])) absent else member(each, key, is_right, file)
    }, absent)
  }
  for (each in estimates) {
    member(each, "quantity", is_text, file)
    if (!"value" %in% names(each)) member(each, "value", is_number, file)
  }
  high <- column("high", is_number, NA_real_)
  # A null is an interval that nothing bounds from above.
  high[is.na(high) & vapply(estimates, function(each) "high" %in% names(each), NA)] <- Inf
  list(
    name = member(told, "name", is_text, file),
    kind = member(told, "kind", is_text, file),
    estimates = data.frame(
      quantity = column("quantity", is_text, ""),
      group = column("group", is_text, ""),
      at = column("at", is_text, ""),
      value = column("value", is_number, NA_real_),
      noise_error = column("noise_error", is_number, NA_real_),
      standard_error = column("standard_error", is_number, NA_real_),
      low = column("low", is_number, NA_real_),
      high = high,
      too_many = column("too_many", is_flag, FALSE)
    ),
    methods = unlist(told[["methods"]]),
    edges = as.numeric(unlist(told[["edges"]])),
    covariance = do.call(rbind, lapply(told[["covariance"]], as.numeric)),
    table = told[["table"]]
  )
}

`[.tacet_answers` <- function(x, which) {
  x$questions <- x$questions[chosen(x, which)]
  x
}

# Places of questions, by name or number.
chosen <- function(answers, which) {
  names <- names(answers$questions)
  place <- if (is.character(which)) match(which, names) else match(which, seq_along(names))
  if (anyNA(place)) {
    stop(sprintf("no question is called \"%s\"; there are: ", which[is.na(place)][1]),
         paste(names, collapse = ", "), call. = FALSE)
  }
  place
}

# The columns of answers.csv.
as.data.frame.tacet_answers <- function(x, row.names = NULL, optional = FALSE, ...) {
  rows <- lapply(unname(x$questions), function(each) {
    count <- nrow(each$estimates)
    cbind(question = rep(each$name, count), kind = rep(each$kind, count), each$estimates)
  })
  do.call(rbind, rows)
}

check_level <- function(level, answers) {
  if (!isTRUE(all.equal(level, answers$confidence))) {
    stop(sprintf("the answers have intervals of %g %%: ask with confidence = %g",
                 100 * answers$confidence, level), call. = FALSE)
  }
}

# Names of the ends of intervals: "2.5 %" and "97.5 %".
end_names <- function(level) {
  outside <- (1 - level) / 2
  paste(format(100 * c(outside, 1 - outside), trim = TRUE, digits = 3), "%")
}

confint.tacet_answers <- function(object, parm, level = object$confidence, ...) {
  check_level(level, object)
  if (!missing(parm)) object <- object[parm]
  rows <- as.data.frame(object)
  labels <- sprintf("%s: %s", rows$question, labels_of(rows))
  matrix(c(rows$low, rows$high), ncol = 2, dimnames = list(labels, end_names(level)))
}

# The table of a `table1` as a paper prints it, or with `markup` that of a model, too, as text that
# the program writes.
tacet_table <- function(answers, question, markup = NULL) {
  asked <- answers$questions[[chosen(answers, question)]]
  if (is.null(markup)) return(printed_table(asked))
  folder <- private_folder()
  on.exit(remove_folder(folder))
  file <- file.path(folder, "table")
  options <- list(tables = markup, question = asked$name, out = file)
  run_program(c("report", flags_of(options), existing_path(answers$path)), folder)
  paste0(paste(readLines(file, encoding = "UTF-8"), collapse = "\n"), "\n")
}

printed_table <- function(question) {
  if (is.null(question$table)) {
    stop(sprintf("the answer \"%s\" is of kind %s: only table1 has a table", question$name,
                 question$kind), call. = FALSE)
  }
  cells <- lapply(question$table$rows, function(row) c(row$name, unlist(row$cells), row$noise))
  table <- as.data.frame(do.call(rbind, cells))
  names(table) <- c("characteristic", unlist(question$table$groups), "noise")
  table
}
