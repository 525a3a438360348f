# Regression models: their questions from formulas, and their answers as R shows a model.

MODEL_FORMULA <- "a query's formula has columns, log(column), +, : and *"

# The remedies for terms that R's models have and a query has not.
REMEDIES <- c(
  `==` = "The event is the second agreed value of the response (values of tacet_query)",
  offset = "An offset is one offset(log(column)), with family = \"poisson\"",
  strata = "Strata are strata(site), of tacet_cox",
  Surv = "Hazards are asked by tacet_cox",
  cluster = "People with several rows are protected by unit = \"person\" of tacet_query",
  frailty = "With strata(site), tacet_cox gives each site hazards of its own"
)

refuse_term <- function(expression) {
  remedy <- unname(REMEDIES[call_name(expression)])
  stop(sprintf("\"%s\" cannot be asked: %s. ", source_text(expression), MODEL_FORMULA),
       if (is.na(remedy)) "Make it a column of each site's table" else remedy, call. = FALSE)
}

# The column of `log(column)`, else NULL.
logged_column <- function(expression) {
  if (is_call(expression, "log") && length(expression) == 2 && is.null(names(expression)) &&
        is.name(expression[[2]])) {
    expression[[2]]
  }
}

# The term of a query's formula that an expression is.
factor_text <- function(expression) {
  quoted <- function(name) {
    if (grepl("`", name, fixed = TRUE)) {
      stop(sprintf("the column \"%s\" has a backtick: rename it", name), call. = FALSE)
    }
    if (grepl("^[A-Za-z_.][A-Za-z0-9_.]*$", name)) name else paste0("`", name, "`")
  }
  if (is.name(expression)) return(quoted(as.character(expression)))
  logged <- logged_column(expression)
  if (is.null(logged)) refuse_term(expression)
  paste0("log(", quoted(as.character(logged)), ")")
}

# The response of a formula as an expression, its terms as a query's text, their columns, and the
# expressions of offsets and strata. R expands `^`, `%in%` and `-`.
model_parts <- function(formula) {
  if (!inherits(formula, "formula") || length(formula) != 3) {
    stop("write a formula with a response, such as bmi ~ age * sex; it is ",
         source_text(formula), call. = FALSE)
  }
  if ("." %in% all.vars(formula)) {
    stop("\".\" cannot be asked: a query names each column", call. = FALSE)
  }
  parts <- stats::terms(formula)
  if (attr(parts, "intercept") == 0) {
    stop("a model without intercept cannot be asked: leave out \"- 1\" and \"+ 0\"", call. = FALSE)
  }
  variables <- as.list(attr(parts, "variables"))[-1]
  offsets <- attr(parts, "offset")
  strata <- which(vapply(variables, call_name, "") == "strata")
  own <- setdiff(seq_along(variables), c(1, offsets, strata))
  texts <- character(length(variables))
  texts[own] <- vapply(variables[own], factor_text, "")
  # A row for each variable, a column for each term.
  used <- as.matrix(attr(parts, "factors")) > 0
  in_strata <- colSums(used[strata, , drop = FALSE]) > 0
  mixed <- which(in_strata & colSums(used) > 1)
  if (length(mixed)) {
    stop(sprintf("\"%s\" cannot be asked: strata have no products", colnames(used)[mixed[1]]),
         call. = FALSE)
  }
  used <- used[, !in_strata, drop = FALSE]
  if (!length(used)) stop("the formula has no terms: write response ~ column", call. = FALSE)
  products <- apply(used, 2, function(row) paste(texts[row], collapse = ":"))
  list(response = variables[[1]], terms = paste(products, collapse = " + "),
       columns = unique(unlist(lapply(variables[own], all.vars))),
       offsets = variables[offsets], strata = variables[strata])
}

# The column of `offset(log(column))`, which alone is an exposure.
exposure_of <- function(offsets, family) {
  if (!length(offsets)) return(NULL)
  column <- if (length(offsets[[1]]) == 2) logged_column(offsets[[1]][[2]])
  if (is.null(column) || !identical(family, "poisson")) refuse_term(offsets[[1]])
  if (length(offsets) > 1) refuse_term(offsets[[2]])
  as.character(column)
}

# "binomial" for "binomial", binomial and binomial(). Its link is the one that the program has.
family_name <- function(family) {
  if (is.function(family)) family <- family()
  if (!inherits(family, "family")) return(family)
  usual <- get(family$family, envir = asNamespace("stats"), mode = "function")()$link
  if (family$link != usual) {
    stop(sprintf("the link \"%s\" cannot be asked: family %s has the link \"%s\"", family$link,
                 family$family, usual), call. = FALSE)
  }
  family$family
}

tacet_glm <- function(formula, bounds = list(), ..., family = "gaussian", query = NULL,
                      data = NULL, out = NULL, insecure_seed = NULL) {
  asked <- model_parts(formula)
  if (length(asked$strata)) refuse_term(asked$strata[[1]])
  response <- factor_text(asked$response)
  family <- family_name(family)
  exposure <- exposure_of(asked$offsets, family)
  columns <- unique(c(all.vars(asked$response), asked$columns, exposure))
  question <- new_question("glm", list(
    formula = paste(response, "~", asked$terms), family = family,
    columns = bounded(columns, bounds), exposure = exposure
  ), ...)
  asked_or_fitted(question, query, data, out, insecure_seed)
}

# The model of a question over all sites; without query and data the question.
asked_or_fitted <- function(question, query, data, out, insecure_seed) {
  if (is.null(query) && is.null(data)) return(question)
  if (is.null(query) || is.null(data)) {
    stop("give query and data to fit the model, or neither to make a question of it",
         call. = FALSE)
  }
  if (!inherits(query, "tacet_query")) {
    stop("query is no query: make it with tacet_query()", call. = FALSE)
  }
  if (is.null(question$keys$name)) question$keys$name <- "model"
  query$questions <- c(query$questions, list(question))
  tacet_model(tacet_ask(query, data, out = out, insecure_seed = insecure_seed),
              question$keys$name)
}

# Coefficients with intervals, whatever the kind of the question is. A discriminant has none.
coefficients_of <- function(question) {
  rows <- estimates_of(question, "coefficient")
  if (any(!is.na(rows$value) & is.na(rows$low))) rows[0, ] else rows
}

# Their odds, rate or hazard ratios.
ratios_of <- function(question) {
  rows <- question$estimates
  rows[grepl(" ratio$", rows$quantity) & rows$group %in% coefficients_of(question)$group, ]
}

tacet_model <- function(answers, question = 1) {
  if (missing(question) && length(answers$questions) != 1) {
    stop("name the question; there are: ", paste(names(answers$questions), collapse = ", "),
         call. = FALSE)
  }
  answers <- answers[question]
  asked <- answers$questions[[1]]
  slopes <- coefficients_of(asked)
  if (!nrow(slopes)) {
    stop(sprintf("the answer \"%s\" is of kind %s: it has no coefficients with intervals",
                 asked$name, asked$kind), call. = FALSE)
  }
  ratios <- ratios_of(asked)
  terms <- rbind(estimates_of(asked, "intercept"), slopes)
  of_ratio <- function(key) ratios[[key]][match(terms$group, ratios$group)]
  table <- data.frame(
    term = ifelse(terms$quantity == "intercept", "(Intercept)", terms$group),
    estimate = terms$value, standard_error = terms$standard_error,
    noise_error = terms$noise_error, low = terms$low, high = terms$high
  )
  if (nrow(ratios)) {
    table <- cbind(table, ratio = of_ratio("value"), ratio_low = of_ratio("low"),
                   ratio_high = of_ratio("high"))
  }
  structure(list(coefficients = table, ratio = unique(ratios$quantity), question = asked,
                 answers = answers), class = "tacet_model")
}

as.data.frame.tacet_model <- function(x, row.names = NULL, optional = FALSE, ...) x$coefficients

coef.tacet_model <- function(object, ...) {
  stats::setNames(object$coefficients$estimate, object$coefficients$term)
}

nobs.tacet_model <- function(object, ...) estimates_of(object$question, "count")$value

# Of noise and sampling.
vcov.tacet_model <- function(object, ...) {
  terms <- object$coefficients$term
  found <- object$question$covariance
  if (is.null(found)) found <- matrix(NA_real_, length(terms), length(terms))
  dimnames(found) <- list(terms, terms)
  found
}

confint.tacet_model <- function(object, parm, level = object$answers$confidence, ...) {
  if (!is.numeric(level) || length(level) != 1 || !isTRUE(level > 0 && level < 1)) {
    stop("level is no number between 0 and 1", call. = FALSE)
  }
  rows <- object$coefficients
  ends <- cbind(rows$low, rows$high)
  if (!isTRUE(all.equal(level, object$answers$confidence))) {
    ends <- rows$estimate + sqrt(diag(stats::vcov(object))) %o% stats::qnorm((1 + c(-level, level)) / 2)
  }
  dimnames(ends) <- list(rows$term, end_names(level))
  if (missing(parm)) return(ends)
  if (is.character(parm) && length(strange <- setdiff(parm, rows$term))) {
    stop(sprintf("no term is called \"%s\"; there are: ", strange[1]),
         paste(rows$term, collapse = ", "), call. = FALSE)
  }
  ends[parm, , drop = FALSE]
}

model_heading <- function(x) {
  cat(sprintf("%s (%s), intervals of %g %%\n\n", harmless(x$question$name),
              harmless(x$question$kind), 100 * x$answers$confidence))
}

print.tacet_model <- function(x, digits = max(3, getOption("digits") - 3), ...) {
  rows <- x$coefficients
  ends <- end_names(x$answers$confidence)
  figures <- as.matrix(rows[c("estimate", "low", "high")])
  names <- c("Estimate", ends)
  if (length(x$ratio)) {
    figures <- cbind(figures, as.matrix(rows[c("ratio", "ratio_low", "ratio_high")]))
    names <- c(names, x$ratio, ends)
  }
  dimnames(figures) <- list(harmless(rows$term), harmless(names))
  model_heading(x)
  # Each column has digits of its own.
  shown <- figures
  shown[] <- apply(figures, 2, function(column) format(column, digits = digits))
  shown[rows$term == "(Intercept)", -(1:3)] <- ""  # it has no ratio
  print(shown, quote = FALSE, right = TRUE)
  print_remarks(x)
  invisible(x)
}

# Prints what is suppressed and why, the rows, and the cost.
print_remarks <- function(x) {
  cat("\n")
  if (anyNA(x$coefficients$estimate)) {
    why <- grep("suppressed", x$question$methods, value = TRUE)
    cat(strwrap(harmless(c("NA is suppressed", why)), exdent = 2), sep = "\n")
  }
  rest <- x$question$estimates
  rest <- rest[!rest$quantity %in% c("intercept", "coefficient", x$ratio), ]
  cat(estimate_lines(rest), sep = "\n")
  print_cost(x$answers)
}

# The standard error holds noise and sampling, and so do z and p.
summary.tacet_model <- function(object, ...) {
  rows <- object$coefficients
  z <- rows$estimate / rows$standard_error
  table <- cbind(Estimate = rows$estimate, `Noise error` = rows$noise_error,
                 `Std. Error` = rows$standard_error, `z value` = z,
                 `Pr(>|z|)` = 2 * stats::pnorm(-abs(z)))
  rownames(table) <- rows$term
  structure(list(coefficients = table, model = object), class = "summary.tacet_model")
}

print.summary.tacet_model <- function(x, ...) {
  model_heading(x$model)
  table <- x$coefficients
  rownames(table) <- harmless(rownames(table))
  stats::printCoefmat(table, cs.ind = 1:3, tst.ind = 4, has.Pvalue = TRUE, na.print = "NA", ...)
  cat("\nStd. Error, z and p hold the noise and the sampling of rows.\n")
  cat(strwrap(harmless(x$model$question$methods), exdent = 2), sep = "\n")
  print_remarks(x$model)
  invisible(x)
}

plot.tacet_model <- function(x, ...) {
  plot(x$answers, ...)
  invisible(x)
}
