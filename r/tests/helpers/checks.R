# Checks that the tests share.

# The error of `expression` has `text` in its message.
fails <- function(expression, text) {
  fault <- tryCatch({
    expression
    NULL
  }, error = function(fault) fault)
  if (is.null(fault)) stop("no error, expected \"", text, "\"")
  if (!grepl(text, conditionMessage(fault), fixed = TRUE)) {
    stop("the error is \"", conditionMessage(fault), "\", expected \"", text, "\"")
  }
  invisible(fault)
}

same <- function(found, expected) {
  if (!isTRUE(all.equal(found, expected, tolerance = 0))) {
    stop("found ", paste(deparse(found), collapse = " "), ", expected ",
         paste(deparse(expected), collapse = " "))
  }
}
