# Columns that a formula names.

# Parts of `left ~ right | group`: expressions on the left and on the right, which `+` divides, and
# the column of groups. NULL is a part that is not there; a right side `1` has no column.
formula_parts <- function(formula) {
  if (!inherits(formula, "formula")) {
    stop("give a formula, such as age ~ sex; it is ", deparse(formula)[1], call. = FALSE)
  }
  right <- formula[[length(formula)]]
  group <- NULL
  if (is_call(right, "|")) {
    group <- column_name(right[[3]])
    right <- right[[2]]
  }
  terms <- list()
  while (is_call(right, "+") && length(right) == 3) {
    terms <- c(list(right[[3]]), terms)
    right <- right[[2]]
  }
  terms <- c(list(right), terms)
  if (length(terms) == 1 && identical(terms[[1]], 1)) terms <- list()
  list(
    left = if (length(formula) == 3) formula[[2]],
    right = terms,
    group = group,
    environment = environment(formula)
  )
}

is_call <- function(expression, name) {
  is.call(expression) && identical(expression[[1]], as.name(name))
}

# "strata" of `strata(site)` and of `survival::strata(site)`; "" of what is no call.
call_name <- function(expression) {
  called <- if (is.call(expression)) expression[[1]]
  if (is_call(called, "::")) called <- called[[3]]
  if (is.name(called)) as.character(called) else ""
}

source_text <- function(expression) paste(deparse(expression), collapse = " ")

# A column is a name, in backticks if need be, or a text.
column_name <- function(expression) {
  if (is.name(expression)) return(as.character(expression))
  if (is.character(expression) && length(expression) == 1) return(expression)
  stop(
    sprintf("\"%s\" is no column: ", source_text(expression)),
    "write its name, in backticks if it has blanks",
    call. = FALSE
  )
}

column_names <- function(terms) vapply(terms, column_name, "")

# The column and the value of `column == value`.
column_and_value <- function(expression, environment) {
  if (!is_call(expression, "==")) {
    stop(
      sprintf("\"%s\": ", source_text(expression)),
      "write column == value, as in died == 1",
      call. = FALSE
    )
  }
  list(column = column_name(expression[[2]]), value = eval(expression[[3]], environment))
}

# The one column of a question and its groups: "age", ~ age, ~ age | sex or age ~ sex.
one_column <- function(column) {
  if (is.character(column) && length(column) == 1) return(list(column = column))
  parts <- formula_parts(column)
  if (is.null(parts$left)) {
    names <- column_names(parts$right)
    group <- parts$group
  } else {
    names <- column_name(parts$left)
    group <- one_group(parts)
  }
  if (length(names) != 1) {
    stop("the question is about one column: write ~ age or age ~ sex", call. = FALSE)
  }
  list(column = names, group = group)
}

# The column of groups of a formula whose right side is that column, or 1.
one_group <- function(parts) {
  groups <- c(column_names(parts$right), parts$group)
  if (length(groups) > 1) {
    stop("one column makes the groups, not ", paste(groups, collapse = " and "), call. = FALSE)
  }
  if (length(groups) == 1) groups
}
