# Run directories that no program wrote.

# A run directory with one question, or with the text of `file`.
run_with <- function(estimates = character(), kind = "mean", file = NULL, summary = NULL,
                     missing = "[]") {
  run <- tempfile("run-")
  dir.create(run)
  head <- paste(
    "{\"name\": \"query\", \"unit\": \"record\", \"confidence\": 0.95, \"floor\": 10,",
    "\"noise_law\": \"gaussian\", \"noise\": \"Each value has noise.\", \"missing\":", missing,
    ", \"questions\": ["
  )
  question <- sprintf("{\"name\": \"age\", \"kind\": \"%s\", \"estimates\": [%s], \"methods\": []}",
                      kind, paste(estimates, collapse = ", "))
  if (is.null(file)) file <- paste0(head, question, "]}")
  writeLines(enc2utf8(file), file.path(run, "answers.json"), useBytes = TRUE)
  if (!is.null(summary)) writeLines(summary, file.path(run, "summary.json"))
  run
}
estimate <- function(quantity, value, more = ", \"low\": 1, \"high\": 2") {
  sprintf("{\"quantity\": \"%s\", \"value\": %s%s}", quantity, value, more)
}
