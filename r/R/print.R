# Answers as the console prints them (tacet/run/answers_output.cc).

TOO_MANY <- "more than 5 % of the rows"

# Red is for terminals. Words say the same everywhere.
in_colour <- function() {
  wanted <- getOption("tacet.colour")
  if (!is.null(wanted)) return(isTRUE(wanted))
  isatty(stdout()) && sink.number() == 0 && Sys.getenv("NO_COLOR") == "" &&
    Sys.getenv("TERM") != "dumb"
}

# ECMA-48, "select graphic rendition".
red <- function(lines) if (in_colour()) paste0("\033[31m", lines, "\033[0m") else lines

# Texts of a file must not steer the terminal.
harmless <- function(text) gsub("[[:cntrl:]]", "?", text)

# "count, f, 1"
labels_of <- function(rows) {
  part <- function(text) ifelse(text == "", "", paste0(", ", text))
  harmless(paste0(rows$quantity, part(rows$group), part(rows$at)))
}

# Whether another place has the number: a file has curves, a table its own lines.
is_elsewhere <- function(question) {
  rows <- question$estimates
  if (!is.null(question$table)) return(!startsWith(rows$quantity, "left"))
  question$kind == "evaluation" & rows$at != ""
}

estimate_lines <- function(rows) {
  value <- ifelse(is.na(rows$value), "suppressed", sprintf("%10.5g", rows$value))
  interval <- sprintf("   %.5g to %.5g", rows$low, rows$high)
  interval <- sub("Inf", "inf", interval, fixed = TRUE)
  lines <- sprintf("  %-36s %s%s", labels_of(rows), value, ifelse(is.na(rows$low), "", interval))
  ifelse(rows$too_many, red(paste0(lines, "   ", TOO_MANY)), lines)
}

table_lines <- function(table) {
  names(table)[c(1, ncol(table))] <- c("", "\u00b1 noise")
  columns <- Map(function(name, cells) harmless(c(name, cells)), names(table), table)
  last <- length(columns)
  columns[-last] <- lapply(columns[-last], function(cells) {
    paste0(cells, strrep(" ", max(nchar(cells)) - nchar(cells)))
  })
  c(
    paste0("  ", do.call(paste, c(unname(columns), sep = "  "))),
    paste("  \u00b1 noise: standard deviation of the first number of a line that the noise gives",
          "it, the largest"),
    "  of the groups; \u2715: suppressed"
  )
}

print.tacet_answers <- function(x, ...) {
  for (question in x$questions) {
    by <- question$table$by
    by <- if (is.null(by) || by == "") "" else paste(" by", harmless(by))
    cat(sprintf("\n%s (%s)%s, intervals of %g %%\n", harmless(question$name),
                harmless(question$kind), by, 100 * x$confidence))
    if (!is.null(question$table)) cat(table_lines(printed_table(question)), sep = "\n")
    cat(estimate_lines(question$estimates[!is_elsewhere(question), ]), sep = "\n")
  }
  print_cost(x)
  invisible(x)
}

print_cost <- function(x) {
  cat(sprintf("\nnoise       %s\n", harmless(x$noise)))
  for (each in seq_len(nrow(x$missing))) {
    cat(red(sprintf("missing     no data of %s are in the answers (%s)",
                    harmless(x$missing$site[each]), harmless(x$missing$cause[each]))), "\n", sep = "")
  }
  if (!is.null(x$privacy)) {
    cat(sprintf("privacy     epsilon %.3f at delta %g per %s for all answers together\n",
                x$privacy$epsilon, x$privacy$delta, harmless(x$unit)))
  }
  cat(sprintf("results     %s\n", x$path))
}

# One row for each question, and of a `normalise` for each column: how many numbers it has, how many
# of them are suppressed, and the rows that were left out.
summary.tacet_answers <- function(object, ...) {
  rows <- lapply(unname(object$questions), function(question) {
    all <- question$estimates
    left <- all[all$quantity == "left out", ]
    share <- all[all$quantity == "left-out share", ]
    columns <- if (nrow(left)) left$group else ""
    of_column <- function(table, key) table[[key]][match(columns, table$group)]
    data.frame(
      question = question$name, kind = question$kind, column = columns,
      numbers = nrow(all), suppressed = sum(is.na(all$value)),
      left_out = of_column(left, "value"), left_out_share = of_column(share, "value"),
      too_many = of_column(left, "too_many") %in% TRUE
    )
  })
  structure(list(questions = do.call(rbind, rows), answers = object),
            class = "summary.tacet_answers")
}

print.summary.tacet_answers <- function(x, ...) {
  rows <- x$questions
  lines <- sprintf(
    "  %-36s %4d numbers, %d suppressed", harmless(paste0(
      rows$question, " (", rows$kind, ")", ifelse(rows$column == "", "", ", "), rows$column
    )), rows$numbers, rows$suppressed
  )
  left <- sprintf(", left out %.5g", rows$left_out)
  share <- sprintf(" (%.3g %%)", 100 * rows$left_out_share)
  lines <- paste0(lines, ifelse(is.na(rows$left_out), "", left),
                  ifelse(is.na(rows$left_out_share), "", share))
  cat(ifelse(rows$too_many, red(paste0(lines, "   ", TOO_MANY)), lines), sep = "\n")
  print_cost(x$answers)
  invisible(x)
}
