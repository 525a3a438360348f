# Questions of a query: their keys, as docs/formats/query.md has them.

# `...`: keys that every question may have.
new_question <- function(kind, keys, ...) {
  common <- list(...)
  known <- c("name", "where", "sites", "share")
  given <- if (is.null(names(common))) rep("", length(common)) else names(common)
  unknown <- setdiff(given, known)
  if (length(unknown)) {
    stop(sprintf("unknown argument \"%s\": expected one of ", unknown[1]),
         paste(known, collapse = ", "), "; a formula names the groups: age ~ sex", call. = FALSE)
  }
  for (key in intersect(names(common), c("where", "sites"))) common[[key]] <- list_of(common[[key]])
  keys <- c(list(kind = kind), keys, common)
  structure(list(keys = keys[!vapply(keys, is.null, NA)]), class = "tacet_question")
}

# Dates and factors are texts in a query.
plain <- function(values) {
  if (inherits(values, c("Date", "factor"))) as.character(values) else values
}

list_of <- function(values) if (!is.null(values)) unname(as.list(plain(values)))

tacet_cells <- function(edges = NULL, bins = NULL, low = NULL, high = NULL, categories = NULL) {
  cells <- list(
    edges = list_of(edges), bins = bins, low = low, high = high, categories = list_of(categories)
  )
  structure(cells[!vapply(cells, is.null, NA)], class = "tacet_cells")
}

cell_keys <- function(cells) {
  if (!inherits(cells, "tacet_cells")) {
    stop("cells is no list of cells: make it with tacet_cells()", call. = FALSE)
  }
  unclass(cells)
}

# A question about one column, in groups or not.
column_question <- function(kind, column, keys, ..., groups) {
  place <- one_column(column)
  keys <- c(list(column = place$column), keys, group_keys(place$group, groups))
  new_question(kind, keys, ...)
}

group_keys <- function(group, groups) list(group = group, groups = list_of(groups))

# "age 20..100" for each column with bounds; the column alone without.
bounded <- function(columns, bounds) {
  strange <- setdiff(names(bounds), columns)
  if (length(strange)) {
    stop(sprintf("bounds has \"%s\", which is no column of the question", strange[1]),
         call. = FALSE)
  }
  as.list(vapply(columns, function(column) {
    ends <- bounds[[column]]
    if (is.null(ends)) return(column)
    if (!is.numeric(ends) || length(ends) != 2 || !all(is.finite(ends))) {
      stop(sprintf("bounds of \"%s\" are %s: give c(low, high)", column, deparse(ends)[1]),
           call. = FALSE)
    }
    sprintf("%s %s..%s", column, number_text(ends[1]), number_text(ends[2]))
  }, "", USE.NAMES = FALSE))
}

tacet_count <- function(...) new_question("count", list(), ...)

tacet_total <- function(column, low, high, ..., groups = NULL) {
  column_question("sum", column, list(low = low, high = high), ..., groups = groups)
}

tacet_mean <- function(column, low, high, ..., groups = NULL) {
  column_question("mean", column, list(low = low, high = high), ..., groups = groups)
}

tacet_variance <- function(column, low, high, ..., groups = NULL) {
  column_question("variance", column, list(low = low, high = high), ..., groups = groups)
}

tacet_normalise <- function(bounds, ...) {
  new_question("normalise", list(columns = bounded(names(bounds), bounds)), ...)
}

tacet_histogram <- function(column, cells, ..., groups = NULL) {
  column_question("histogram", column, cell_keys(cells), ..., groups = groups)
}

tacet_quantiles <- function(column, cells, at = c(0.25, 0.5, 0.75), ..., groups = NULL) {
  keys <- c(cell_keys(cells), list(quantiles = list_of(at)))
  column_question("quantiles", column, keys, ..., groups = groups)
}

tacet_median <- function(column, cells, ..., groups = NULL) {
  column_question("median", column, cell_keys(cells), ..., groups = groups)
}

tacet_crosstab <- function(formula, row_cells, column_cells, ...) {
  parts <- formula_parts(formula)
  names <- column_names(parts$right)
  if (length(names) != 2 || !is.null(parts$left) || !is.null(parts$group)) {
    stop("a crosstab has two columns: write ~ sex + died", call. = FALSE)
  }
  new_question("crosstab", list(
    rows = c(list(column = names[1]), cell_keys(row_cells)),
    columns = c(list(column = names[2]), cell_keys(column_cells))
  ), ...)
}

tacet_proportion <- function(formula, ..., groups = NULL) {
  parts <- formula_parts(formula)
  if (is.null(parts$left)) {
    parts$left <- parts$right[[1]]
    parts$right <- parts$right[-1]
  }
  positive <- column_and_value(parts$left, parts$environment)
  keys <- list(column = positive$column, positive = positive$value)
  new_question("proportion", c(keys, group_keys(one_group(parts), groups)), ...)
}

tacet_survival <- function(formula, cells, ..., groups = NULL) {
  parts <- formula_parts(formula)
  if (!is_call(parts$left, "Surv") || length(parts$left) != 3) {
    stop("write Surv(time, event == value) ~ group, as in Surv(days, died == 1) ~ sex",
         call. = FALSE)
  }
  event <- column_and_value(parts$left[[3]], parts$environment)
  keys <- c(
    list(time = column_name(parts$left[[2]])),
    cell_keys(cells),
    list(event = event$column, event_value = event$value),
    group_keys(one_group(parts), groups)
  )
  new_question("survival", keys, ...)
}

tacet_evaluation <- function(formula, cells, ..., threshold = NULL, groups = NULL) {
  parts <- formula_parts(formula)
  score <- column_names(parts$right)
  if (length(score) != 1) {
    stop("write label == value ~ score | group, as in disease == 1 ~ risk | sex", call. = FALSE)
  }
  label <- column_and_value(parts$left, parts$environment)
  keys <- c(
    list(score = score),
    cell_keys(cells),
    list(label = label$column, positive = label$value, threshold = threshold),
    group_keys(parts$group, groups)
  )
  new_question("evaluation", keys, ...)
}

tacet_calibration <- function(asked, model, cells, label, ..., threshold = NULL, group = NULL,
                              groups = NULL) {
  if (!inherits(asked, "tacet_question") || !identical(asked$keys$family, "binomial")) {
    stop("asked is no logistic model's question: make it with tacet_glm(..., family = binomial)",
         call. = FALSE)
  }
  if (!inherits(model, "tacet_model") || anyNA(coef(model))) {
    stop("model is no model, or its coefficients are suppressed", call. = FALSE)
  }
  if (!identical(model$ratio, "odds ratio")) stop("model is no logistic model", call. = FALSE)
  formula <- stats::as.formula(asked$keys$formula)
  response <- all.vars(formula[[2]])
  named <- sub(" [^ ]*[.][.][^ ]*$", "", unlist(asked$keys$columns))
  positive <- column_and_value(substitute(label), parent.frame())
  keys <- c(
    list(formula = trimws(sub("^(`[^`]*`|[^~`])*~", "", asked$keys$formula)),
         columns = asked$keys$columns[named != response],
         coefficients = list_of(unname(coef(model))), terms = list_of(names(coef(model))[-1])),
    cell_keys(cells),
    list(label = positive$column, positive = positive$value, threshold = threshold),
    group_keys(group, groups)
  )
  new_question("evaluation", keys, ...)
}

tacet_regression <- function(formula, bounds, ...) {
  parts <- formula_parts(formula)
  label <- column_and_value(parts$left, parts$environment)
  columns <- bounded(column_names(parts$right), bounds)
  keys <- list(columns = columns, label = label$column, positive = label$value)
  new_question("regression", keys, ...)
}

tacet_table1 <- function(formula, bounds = list(), ..., groups = NULL) {
  parts <- formula_parts(formula)
  if (!is.null(parts$left)) {
    stop("write the columns and the groups as ~ age + sex | arm", call. = FALSE)
  }
  columns <- bounded(column_names(parts$right), bounds)
  new_question("table1", c(list(columns = columns), group_keys(parts$group, groups)), ...)
}

print.tacet_question <- function(x, ...) {
  cat(toml_table("[[question]]", x$keys))
  invisible(x)
}
