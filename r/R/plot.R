# Pictures of answers, as the report has them. A cross marks what is suppressed.

CROSS <- 4

plot.tacet_answers <- function(x, which = NULL, what = NULL, ...) {
  questions <- x$questions
  if (!is.null(which)) questions <- questions[chosen(x, which)]
  pictures <- lapply(questions, picture_of, what = what)
  if (is.null(which) && is.null(what)) questions <- questions[lengths(pictures) > 0]
  if (!length(questions)) stop("no answer here has a picture", call. = FALSE)
  if (length(questions) > 1 && grDevices::dev.interactive()) {
    asked <- grDevices::devAskNewPage(TRUE)
    on.exit(grDevices::devAskNewPage(asked))
  }
  for (question in questions) {
    picture <- picture_of(question, what)
    if (is.null(picture)) {
      known <- names(pictures_of(question))
      stop(sprintf("the answer \"%s\" (%s) has no picture%s; it has: ", question$name,
                   question$kind, if (is.null(what)) "" else sprintf(" \"%s\"", what)),
           if (length(known)) paste(known, collapse = ", ") else "none", call. = FALSE)
    }
    picture(question, ...)
    graphics::title(main = harmless(question$name))
  }
  invisible(x)
}

pictures_of <- function(question) {
  known <- PICTURES[[question$kind]]
  if (question$kind == "cox") {
    known <- known[c(any(question$estimates$quantity == "survival"),
                     any(question$estimates$quantity == "change of coefficient"))]
  }
  if (nrow(coefficients_of(question))) known <- c(list(coefficients = draw_coefficients), known)
  known
}

picture_of <- function(question, what) {
  known <- pictures_of(question)
  if (is.null(what)) known[[1]] else known[[what]]
}

estimates_of <- function(question, quantity) {
  question$estimates[question$estimates$quantity == quantity, ]
}

by_group <- function(rows) split(rows, factor(rows$group, unique(rows$group)))

# Without black, which Okabe and Ito's colours begin with.
colours <- function(count) rep_len(grDevices::palette.colors(9, "Okabe-Ito")[-1], count)
pale <- function(colour) grDevices::adjustcolor(colour, 0.2)

legend_of <- function(groups, colours, place, ...) {
  if (any(groups != "")) {
    graphics::legend(place, harmless(groups), col = colours, bty = "n", ...)
  }
}

whiskers <- function(x0, y0, x1, y1, ...) {
  long <- x0 != x1 | y0 != y1  # a whisker without length has no direction
  long <- long & !is.na(long)
  if (any(long)) {
    graphics::arrows(x0[long], y0[long], x1[long], y1[long], angle = 90, code = 3, length = 0.04,
                     ...)
  }
}

draw_counts <- function(question, ...) {
  cells <- estimates_of(question, "count")
  cells <- cells[cells$at != "", ]
  in_groups <- any(cells$group != "")
  rows <- if (in_groups) cells$group else cells$at
  series <- if (in_groups) cells$at else rep("", nrow(cells))
  table_of <- function(values) {
    tapply(values, list(factor(series, unique(series)), factor(rows, unique(rows))), identity)
  }
  values <- table_of(cells$value)
  high <- table_of(cells$high)
  paint <- colours(nrow(values))
  middle <- graphics::barplot(
    values, beside = TRUE, col = paint, border = NA, ylab = "count",
    las = if (max(nchar(rows)) > 4) 2 else 1, names.arg = harmless(colnames(values)),
    cex.names = 0.8, ylim = c(0, (1 + 0.1 * nrow(values)) * max(1, high, na.rm = TRUE)), ...
  )
  middle <- matrix(middle, nrow(values))
  whiskers(middle, table_of(cells$low), middle, high)
  hidden <- is.na(values)
  graphics::points(middle[hidden], rep(0, sum(hidden)), pch = CROSS, xpd = NA)
  legend_of(rownames(values), paint, "topright", pch = 15)
}

draw_survival <- function(question, ...) {
  groups <- by_group(estimates_of(question, "survival"))
  risk <- by_group(estimates_of(question, "at risk"))
  paint <- colours(length(groups))
  # Room for the numbers at risk.
  old <- graphics::par(mar = c(6 + length(risk), 6, 4, 2) + 0.1)
  on.exit(graphics::par(old))
  end <- max(as.numeric(unlist(lapply(groups, function(rows) rows$at))))
  plot(NULL, xlim = c(0, end), ylim = c(0, 1), xlab = "time", ylab = "share that survives", ...)
  for (place in seq_along(groups)) {
    rows <- groups[[place]]
    # A curve ends at its first suppressed value.
    shown <- rows[cumsum(is.na(rows$value)) == 0, ]
    times <- c(0, as.numeric(shown$at))
    steps <- function(values) rep(c(1, values), each = 2)[-2 * length(times)]
    corners <- rep(times, each = 2)[-1]
    graphics::polygon(c(corners, rev(corners)), c(steps(shown$low), rev(steps(shown$high))),
                      col = pale(paint[place]), border = NA)
    graphics::lines(corners, steps(shown$value), col = paint[place], lwd = 2)
    if (nrow(shown) < nrow(rows)) {
      graphics::points(times[length(times)], c(1, shown$value)[length(times)], pch = CROSS,
                       col = paint[place])
    }
  }
  small <- 0.8 * graphics::par("cex")
  graphics::mtext("at risk", side = 1, line = 4, at = 0, adj = 0, cex = small)
  for (place in seq_along(risk)) {
    rows <- risk[[place]]
    rows <- rows[seq(1, nrow(rows), by = ceiling(nrow(rows) / 6)), ]
    line <- 4 + place
    text <- ifelse(is.na(rows$value), "\u00d7", format(round(rows$value), trim = TRUE))
    graphics::mtext(text, side = 1, line = line, at = as.numeric(rows$at), cex = small)
    graphics::mtext(harmless(names(risk)[place]), side = 1, line = line, at = -0.1 * end, adj = 1,
                    cex = small)
  }
  legend_of(names(groups), paint, "bottomleft", lwd = 2)
}

# Hazards are constant within an interval, so survival has no steps.
draw_profiles <- function(question, ...) {
  groups <- by_group(estimates_of(question, "survival"))
  paint <- colours(length(groups))
  end <- max(as.numeric(unlist(lapply(groups, function(rows) rows$at))))
  plot(NULL, xlim = c(0, end), ylim = c(0, 1), xlab = "time", ylab = "share that survives", ...)
  for (place in seq_along(groups)) {
    rows <- groups[[place]]
    if (anyNA(rows$value)) {
      graphics::points(0, 1, pch = CROSS, col = paint[place])
      next
    }
    times <- c(0, as.numeric(rows$at))
    graphics::polygon(c(times, rev(times)), c(1, rows$low, rev(rows$high), 1),
                      col = pale(paint[place]), border = NA)
    graphics::lines(times, c(1, rows$value), col = paint[place], lwd = 2)
  }
  legend_of(names(groups), paint, "bottomleft", lwd = 2)
}

draw_changes <- function(question, ...) {
  rows <- estimates_of(question, "change of coefficient")
  draw_points(rows, rows$group, "change of coefficient", neutral = 0, ...)
}

draw_roc <- function(question, ...) {
  rates <- estimates_of(question, "false positive rate")
  groups <- by_group(estimates_of(question, "sensitivity"))
  areas <- estimates_of(question, "auc")
  paint <- colours(length(groups))
  plot(NULL, xlim = c(0, 1), ylim = c(0, 1), asp = 1, xlab = "1 - specificity",
       ylab = "sensitivity", ...)
  graphics::abline(0, 1, lty = 3, col = "gray")
  words <- names(groups)
  for (place in seq_along(groups)) {
    group <- words[place]
    pairs <- merge(rates[rates$group == group, ], groups[[place]], by = "at")
    pairs <- pairs[!is.na(pairs$value.x) & !is.na(pairs$value.y), ]
    pairs <- pairs[order(as.numeric(pairs$at), decreasing = TRUE), ]
    # A band joins the corners of the two intervals.
    graphics::polygon(c(0, pairs$low.x, rev(pairs$high.x)), c(0, pairs$high.y, rev(pairs$low.y)),
                      col = pale(paint[place]), border = NA)
    graphics::lines(c(0, pairs$value.x), c(0, pairs$value.y), col = paint[place], lwd = 2)
    area <- areas[areas$group == group & !is.na(areas$value), ]
    if (nrow(area) == 1) {
      area <- sprintf("AUC %.3g (%.3g to %.3g)", area$value, area$low, area$high)
      words[place] <- if (group == "") area else paste0(group, ", ", area)
    }
  }
  legend_of(words, paint, "bottomright", lwd = 2)
}

# Middle of "[0.1, 0.2)".
middle_of <- function(at) {
  ends <- strsplit(gsub("[][()]", "", at), ",")
  vapply(ends, function(each) mean(as.numeric(each)), 0)
}

draw_calibration <- function(question, ...) {
  groups <- by_group(estimates_of(question, "observed share"))
  paint <- colours(length(groups))
  plot(NULL, xlim = c(0, 1), ylim = c(0, 1), asp = 1, xlab = "score", ylab = "observed share", ...)
  graphics::abline(0, 1, lty = 3, col = "gray")
  for (place in seq_along(groups)) {
    rows <- groups[[place]]
    at <- middle_of(rows$at) + 0.01 * (place - (length(groups) + 1) / 2)  # side by side
    whiskers(at, rows$low, at, rows$high, col = paint[place])
    hidden <- is.na(rows$value)
    graphics::points(at, ifelse(hidden, 0.02, rows$value), pch = ifelse(hidden, CROSS, 19),
                     col = paint[place])
  }
  legend_of(names(groups), paint, "topleft", pch = 19)
}

# One line for each number: its interval as a whisker, itself as a point. `neutral`: the value
# without an effect, which has a line across; of ratios it is 1, and their axis is logarithmic.
draw_points <- function(rows, labels, axis, edges = numeric(), neutral = numeric(),
                        is_ratio = FALSE, ...) {
  known <- c(rows$value, rows$low, rows$high, edges, neutral)
  known <- known[is.finite(known) & (!is_ratio | known > 0)]
  count <- nrow(rows)
  old <- graphics::par(mar = c(5, 2 + max(3, 0.5 * max(nchar(labels))), 4, 2) + 0.1)
  on.exit(graphics::par(old))
  plot(NULL, xlim = if (length(known)) range(known) else c(0, 1), ylim = c(count + 0.5, 0.5),
       yaxt = "n", xlab = axis, ylab = "", log = if (is_ratio) "x" else "", ...)
  graphics::abline(v = edges, col = "lightgray")
  graphics::abline(v = neutral, lty = 3)
  graphics::axis(2, seq_len(count), harmless(labels), las = 1)
  ends <- if (is_ratio) 10^graphics::par("usr") else graphics::par("usr")
  # An end beyond the axis, such as an infinite one, is the axis's.
  whiskers(pmax(rows$low, ends[1]), seq_len(count), pmin(rows$high, ends[2]), seq_len(count))
  hidden <- is.na(rows$value)
  graphics::points(ifelse(hidden, ends[1], rows$value), seq_len(count),
                   pch = ifelse(hidden, CROSS, 19), xpd = NA)
}

# A forest plot: ratios where the answer has them.
draw_coefficients <- function(question, ...) {
  ratios <- ratios_of(question)
  is_ratio <- nrow(ratios) > 0
  rows <- if (is_ratio) ratios else coefficients_of(question)
  draw_points(rows, rows$group, rows$quantity[1], neutral = if (is_ratio) 1 else 0,
              is_ratio = is_ratio, ...)
}

draw_quantiles <- function(question, ...) {
  rows <- rbind(estimates_of(question, "quantile"), estimates_of(question, "median"))
  share <- ifelse(rows$at == "", 0.5, suppressWarnings(as.numeric(rows$at)))
  labels <- trimws(sprintf("%s %g %%", rows$group, 100 * share))
  draw_points(rows, labels, "value, with the edges of the cells", question$edges, ...)
}

# A number of each group.
draw_figures <- function(quantity) {
  function(question, ...) {
    rows <- estimates_of(question, quantity)
    draw_points(rows, ifelse(rows$group == "", "all", rows$group), quantity, ...)
  }
}

PICTURES <- list(
  count = list(count = draw_figures("count")),
  sum = list(sum = draw_figures("sum")),
  mean = list(mean = draw_figures("mean")),
  variance = list(mean = draw_figures("mean"),
                  `standard deviation` = draw_figures("standard deviation")),
  proportion = list(proportion = draw_figures("proportion")),
  histogram = list(counts = draw_counts),
  crosstab = list(counts = draw_counts),
  quantiles = list(quantiles = draw_quantiles),
  median = list(median = draw_quantiles),
  survival = list(survival = draw_survival),
  cox = list(survival = draw_profiles, changes = draw_changes),
  evaluation = list(roc = draw_roc, calibration = draw_calibration)
)
