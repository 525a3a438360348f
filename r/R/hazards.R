# Proportional hazards: their question from a formula of the package survival, and the baseline.

# The columns of `Surv(time, event)`. An event without `== value` is 1 where it happened.
time_and_event <- function(response, environment) {
  if (call_name(response) != "Surv") {
    stop(sprintf("\"%s\" is no time with an event: ", source_text(response)),
         "write Surv(time, event) ~ column", call. = FALSE)
  }
  # The arguments of survival::Surv: the second one is an event where there is no third.
  given <- as.list(match.call(function(time, time2, event, type, origin) NULL, response))[-1]
  if (is.null(given$event)) names(given)[names(given) == "time2"] <- "event"
  if (!setequal(names(given), c("time", "event"))) {
    stop(sprintf("\"%s\" cannot be asked: ", source_text(response)),
         "each row has one time, from its own start, and one event: write Surv(time, event)",
         call. = FALSE)
  }
  plain <- is.name(given$event)
  event <- if (plain) list(column = as.character(given$event), value = 1) else {
    column_and_value(given$event, environment)
  }
  c(list(time = column_name(given$time), plain = plain), event)
}

# R's Surv reads the numbers 1 and 2 as a code whose event is 2. Here they would be an error.
check_events <- function(data, column) {
  tables <- if (is.data.frame(data)) list(data) else as.list(data)
  for (table in Filter(is.data.frame, tables)) {
    values <- table[[column]]
    if (is.factor(values)) values <- as.character(values)
    strange <- setdiff(suppressWarnings(as.numeric(values)), c(0, 1, NA))
    if (length(strange)) {
      stop(sprintf("the event \"%s\" has the number %s: write Surv(time, %s == value) with the ",
                   column, number_text(strange[1]), column),
           "value of rows whose event happened", call. = FALSE)
    }
  }
}

# The one stratum that a query has is the site.
check_strata <- function(strata) {
  for (each in strata) {
    if (length(strata) > 1 || length(each) != 2 || !identical(each[[2]], quote(site))) {
      refuse_term(each)
    }
  }
}

tacet_cox <- function(formula, bounds = list(), edges = NULL, high = NULL, ..., sites = NULL,
                      profiles = NULL, check = FALSE, query = NULL, data = NULL, out = NULL,
                      insecure_seed = NULL) {
  asked <- model_parts(formula)
  follow_up <- time_and_event(asked$response, environment(formula))
  if (length(asked$offsets)) refuse_term(asked$offsets[[1]])
  check_strata(asked$strata)
  by_site <- length(asked$strata) > 0
  if (by_site && is.null(sites)) {
    # One path is a folder of tables.
    sites <- if (!is.data.frame(data) && length(data) > 1) names(named_files(data))
    if (is.null(sites)) {
      stop("strata(site) needs the names of all sites: sites = c(\"aachen\", \"bonn\")",
           call. = FALSE)
    }
  }
  if (follow_up$plain) check_events(data, follow_up$column)
  question <- new_question("cox", c(
    list(time = follow_up$time),
    cell_keys(tacet_cells(edges = edges, high = high)),
    list(event = follow_up$column, event_value = follow_up$value, formula = asked$terms,
         columns = bounded(asked$columns, bounds), strata = if (by_site) "sites",
         profiles = list_of(profiles), check = if (check) "proportional-hazards")
  ), ..., sites = sites)
  asked_or_fitted(question, query, data, out, insecure_seed)
}

# The rows of a model's answer with a quantity; `needs` says how to get them.
rows_of_model <- function(model, quantity, needs) {
  if (!inherits(model, "tacet_model")) {
    stop("model is no model: make it with tacet_cox() or tacet_model()", call. = FALSE)
  }
  rows <- estimates_of(model$question, quantity)
  if (nrow(rows)) return(rows)
  stop(sprintf("the model \"%s\" is of kind %s: %s", model$question$name, model$question$kind,
               needs), call. = FALSE)
}

curve_of <- function(label, rows) {
  data.frame(label, time = as.numeric(rows$at), survival = rows$value,
             standard_error = rows$standard_error, noise_error = rows$noise_error,
             low = rows$low, high = rows$high)
}

tacet_baseline <- function(model) {
  rows <- rows_of_model(model, "baseline survival", "only cox has a baseline")
  curve_of(list(site = rows$group), rows)
}

tacet_profiles <- function(model) {
  rows <- rows_of_model(model, "survival", "ask tacet_cox() with profiles")
  curve_of(list(profile = rows$group), rows)
}

# The answer of `cox.zph`: the change of each coefficient, and the test that none changes.
tacet_zph <- function(model) {
  rows <- rows_of_model(model, "change of coefficient", "ask tacet_cox() with check = TRUE")
  figure <- function(name) {
    estimates_of(model$question, paste("proportional hazards", name))$value
  }
  changes <- data.frame(term = rows$group, change = rows$value,
                        standard_error = rows$standard_error, noise_error = rows$noise_error,
                        low = rows$low, high = rows$high)
  list(changes = changes, chisq = figure("chi-squared"), df = nrow(rows), p = figure("p"))
}
