# A query: questions and the terms of their one guarantee, written as a query file.

tacet_query <- function(..., target_epsilon = NULL, noise_multiplier = NULL, noise_stddev = NULL,
                        noise_law = NULL, delta = NULL, unit = NULL, neighbouring = NULL,
                        max_units = NULL, rows_per_unit = NULL, person_column = NULL,
                        site_column = NULL, missing = NULL, values = NULL, derived = NULL,
                        floor = NULL, confidence = NULL, name = NULL, colluders = NULL,
                        appearances = NULL, budget_epsilon = NULL, spare_attempts = NULL) {
  questions <- list(...)
  for (place in seq_along(questions)) {
    given <- c(names(questions)[place], "")[1]
    if (!inherits(questions[[place]], "tacet_question")) {
      stop(
        sprintf("argument %s is no question: ", if (given == "") place else given),
        "make one with tacet_count(), tacet_mean() and the others, or correct the option's name",
        call. = FALSE
      )
    }
    if (given != "" && is.null(questions[[place]]$keys$name)) {
      questions[[place]]$keys$name <- given
    }
  }
  structure(list(
    top = list(name = name, floor = floor, confidence = confidence),
    data = list(
      person_column = person_column, site_column = site_column, missing = list_of(missing),
      values = list_of(values), derived = list_of(derived)
    ),
    privacy = list(
      unit = unit, neighbouring = neighbouring, target_epsilon = target_epsilon,
      noise_multiplier = noise_multiplier, noise_stddev = noise_stddev, noise_law = noise_law,
      delta = delta, max_units = max_units, rows_per_unit = rows_per_unit, colluders = colluders,
      appearances = appearances, budget_epsilon = budget_epsilon, spare_attempts = spare_attempts
    ),
    questions = unname(questions)
  ), class = "tacet_query")
}

format.tacet_query <- function(x, ...) {
  blocks <- c(
    toml_table(NULL, x$top),
    toml_table("[data]", x$data),
    toml_table("[privacy]", x$privacy),
    vapply(x$questions, function(each) toml_table("[[question]]", each$keys), "")
  )
  paste(blocks, collapse = "\n")
}

print.tacet_query <- function(x, ...) {
  cat(format(x))
  invisible(x)
}

tacet_write_query <- function(query, path) {
  if (!inherits(query, "tacet_query")) {
    stop("query is no query: make it with tacet_query()", call. = FALSE)
  }
  write_utf8(format(query), path)
  invisible(path)
}

# The bytes of UTF-8, whatever the locale is.
write_utf8 <- function(lines, path) {
  connection <- file(path, "wb")
  on.exit(close(connection))
  writeLines(lines, connection, useBytes = TRUE)
}
