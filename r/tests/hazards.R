# Proportional hazards: what a formula asks, and the fitted model.
library(tacet)
source(file.path("helpers", "checks.R"))
source(file.path("helpers", "runs.R"))

asked <- function(...) tacet_cox(..., edges = c(0, 365, 1000))$keys
bounds <- list(age = c(18, 100), nodes = c(1, 40))

keys <- asked(survival::Surv(days, dead) ~ age * sex + log(nodes), bounds, name = "death")
same(keys$kind, "cox")
same(keys$formula, "age + sex + log(nodes) + age:sex")
same(unlist(keys$columns), c("age 18..100", "sex", "nodes 1..40"))
same(keys[c("time", "event", "event_value")], list(time = "days", event = "dead", event_value = 1))
same(keys$edges, list(0, 365, 1000))
same(c("strata", "sites", "high") %in% names(keys), c(FALSE, FALSE, FALSE))
same(tacet_cox(Surv(days, dead) ~ age, high = 3650)$keys$high, 3650)
for (form in c("Surv(days, dead)", "Surv(time = days, event = dead)", "Surv(days, event = dead)",
               "Surv(event = dead, days)", "Surv(days, dead == 1)")) {
  same(asked(as.formula(paste(form, "~ age")))[c("time", "event", "event_value")],
       keys[c("time", "event", "event_value")])
}
same(asked(Surv(`days alive`, state == "dead") ~ age)[c("time", "event", "event_value")],
     list(time = "days alive", event = "state", event_value = "dead"))
local({
  happened <- 2
  same(asked(Surv(days, status == happened) ~ age)$event_value, 2)
})
for (stratum in c("strata(site)", "survival::strata(site)")) {
  keys <- asked(as.formula(paste("Surv(days, dead) ~ age +", stratum, "+ sex")),
                sites = c("aachen", "bonn"))
  same(keys$strata, "sites")
  same(keys$sites, list("aachen", "bonn"))
  same(keys$formula, "age + sex")
}

# Forms of Surv and terms that a query has not are refused, by name.
for (wrong in c("Surv(entry, exit, dead)", "Surv(days)", "Surv(time = a, time2 = b, event = d)",
                "Surv(low, high, type = \"interval2\")", "Surv(days, dead, type = \"left\")",
                "Surv(days, dead, origin = 5)")) {
  fails(asked(as.formula(paste(wrong, "~ age"))), paste0("\"", wrong, "\" cannot be asked"))
}
for (wrong in c("days", "log(days)", "cbind(days, dead)")) {
  fails(asked(as.formula(paste(wrong, "~ age"))), "write Surv(time, event) ~ column")
}
fails(asked(Surv(days / 365, dead) ~ age), "\"days/365\" is no column")
fails(asked(Surv(days, dead > 0) ~ age), "write column == value")
for (wrong in c("strata(sex)", "strata(site, sex)", "cluster(id)", "frailty(site)", "tt(age)",
                "offset(log(t))", "pspline(age)", "I(age^2)")) {
  fails(asked(as.formula(paste("Surv(days, dead) ~ age +", wrong)), sites = "aachen"),
        paste0("\"", wrong, "\" cannot be asked"))
}
fails(asked(Surv(days, dead) ~ age + cluster(id)), "unit = \"person\"")
fails(asked(Surv(days, dead) ~ age + strata(site) + strata(sex), sites = "a"), "cannot be asked")
fails(asked(Surv(days, dead) ~ age * strata(site), sites = "a"), "strata have no products")
fails(asked(Surv(days, dead) ~ strata(site), sites = "a"), "no terms")
fails(asked(Surv(days, dead) ~ 1), "no terms")
fails(asked(Surv(days, dead) ~ age + strata(site)), "needs the names of all sites")
fails(asked(Surv(days, dead) ~ age, list(days = c(1, 9))), "bounds has \"days\"")
fails(asked(Surv(days, dead) ~ age, ties = "breslow"), "unknown argument \"ties\"")

# Where 2 is the event, 1 is none: a column of both is no event by itself.
terms <- tacet_query(target_epsilon = 8, max_units = 4000, values = "sex one-of=f,m")
coded <- data.frame(days = 1:4, status = c(1, 2, NA, 1), age = 50)
for (data in list(coded, list(a = coded, b = coded),
                  transform(coded, status = factor(status)))) {
  fails(asked(Surv(days, status) ~ age, bounds["age"], query = terms, data = data),
        "the event \"status\" has the number 2: write Surv(time, status == value)")
}

# The baseline of answers, by site or not.
points <- function(site, values) {
  Map(function(at, value) {
    ends <- if (value == "null") "" else {
      ", \"noise_error\": 0.01, \"standard_error\": 0.02, \"low\": 0.4, \"high\": 0.9"
    }
    estimate("baseline survival", value,
             sprintf("%s, \"group\": \"%s\", \"at\": \"%s\"", ends, site, at))
  }, c("365", "1000.5"), values)
}
slope <- estimate("coefficient", "0.5", ", \"group\": \"age\", \"low\": 0, \"high\": 1")
model <- tacet_model(tacet_answers(run_with(
  c(slope, unlist(points("a", c("0.8", "0.5"))), unlist(points("b", c("0.7", "null")))), "cox"
)))
baseline <- tacet_baseline(model)
same(names(baseline),
     c("site", "time", "survival", "standard_error", "noise_error", "low", "high"))
same(baseline$site, c("a", "a", "b", "b"))
same(baseline$time, c(365, 1000.5, 365, 1000.5))
same(baseline$survival, c(0.8, 0.5, 0.7, NA))
same(baseline$low, c(0.4, 0.4, 0.4, NA))
fails(tacet_baseline(tacet_model(tacet_answers(run_with(slope, "glm")))), "only cox has a baseline")
fails(tacet_baseline(baseline), "model is no model")

# The program's hazard ratios are those of coxph() over all tables, within what it says of itself.
source(file.path("helpers", "program.R"))
set.seed(4)
cohort <- function(rows, rate) {
  age <- pmin(pmax(round(rnorm(rows, 60, 10)), 30), 90)
  sex <- sample(c("f", "m"), rows, TRUE)
  event <- rexp(rows, rate * exp(0.03 * (age - 60) + 0.5 * (sex == "m")))
  seen <- runif(rows, 400, 1500)
  data.frame(age, sex, days = ceiling(pmin(event, seen)), dead = event < seen)
}
hospitals <- list(aachen = cohort(3000, 4e-4), bonn = cohort(3000, 5e-4),
                  celle = cohort(2500, 6e-4))
edges <- c(0, 300, 600, 900, 1500)
fitted <- function(formula, ...) {
  tacet_cox(formula, list(age = c(30, 90)), edges = edges, query = terms, out = tempfile("run-"),
            insecure_seed = 5, ...)
}
common <- fitted(Surv(days, dead) ~ age + sex, data = hospitals)
by_site <- fitted(Surv(days, dead) ~ age + sex + strata(site), data = hospitals)
same(common$ratio, "hazard ratio")
same(names(coef(common)), c("age", "sex = m"))
same(names(common$answers$questions), "model")
stopifnot(any(grepl("hazard ratio", capture.output(print(common)))))
stopifnot(any(grepl("Pr(>|z|)", capture.output(print(summary(common))), fixed = TRUE)))
grDevices::pdf(NULL)
plot(common)
stopifnot(par("xlog"))
invisible(grDevices::dev.off())
stopifnot(grepl("Hazard ratio (95 % CI)", tacet_table(common$answers, "model", "markdown"),
                fixed = TRUE))
same(tacet_baseline(common)$time, edges[-1])
stopifnot(isTRUE(all.equal(unname(sqrt(diag(vcov(common)))),
                           as.data.frame(common)$standard_error)))
fails(tacet_profiles(common), "ask tacet_cox() with profiles")
fails(tacet_zph(common), "ask tacet_cox() with check = TRUE")

# Survival of other rows, and the check. Hazards are in proportion.
checked <- fitted(Surv(days, dead) ~ age + sex, data = hospitals, check = TRUE,
                  profiles = c("age = 50, sex = m", "age = 80"))
curves <- tacet_profiles(checked)
same(unique(curves$profile), c("age = 50, sex = m", "age = 80"))
same(nrow(curves), 24L)
stopifnot(curves$low < curves$survival, curves$survival < curves$high, !is.unsorted(-curves$survival[1:12]))
zph <- tacet_zph(checked)
same(zph$df, 2L)
same(zph$changes$term, c("age", "sex = m"))
stopifnot(abs(zph$changes$change) < 4 * zph$changes$standard_error, zph$p > 1e-4, zph$p <= 1)
stopifnot(isTRUE(all.equal(zph$p, pchisq(zph$chisq, zph$df, lower.tail = FALSE))))
grDevices::pdf(NULL)
for (what in c("coefficients", "survival", "changes")) plot(checked$answers, what = what)
fails(plot(common$answers, what = "survival"), "it has: coefficients")
invisible(grDevices::dev.off())
same(tacet_baseline(common)$site, rep("", 4))
same(tacet_baseline(by_site)$site, rep(names(hospitals), each = 4))
# Women of 60: the middle of the bounds, and the first agreed value.
alive <- exp(-rep(c(4e-4, 5e-4, 6e-4), each = 4) * edges[-1])
gap <- abs(tacet_baseline(by_site)$survival - alive) / tacet_baseline(by_site)$standard_error
stopifnot(max(gap) > 0, max(gap) < 4)

if (requireNamespace("survival", quietly = TRUE)) {
  Surv <- survival::Surv
  strata <- survival::strata
  pooled <- do.call(rbind, Map(cbind, hospitals, site = names(hospitals)))
  for (model in list(common, by_site)) {
    formula <- Surv(days, dead) ~ age + sex
    if (identical(model, by_site)) formula <- update(formula, ~ . + strata(site))
    exact <- coef(survival::coxph(formula, pooled))
    noise <- as.data.frame(model)$noise_error
    distance <- abs(unname(coef(model)) - unname(exact)) / noise
    stopifnot(length(distance) == 2, all(noise > 0), max(distance) > 0, max(distance) < 4)
    stopifnot(confint(model)[, 1] < exact, exact < confint(model)[, 2])
  }
}

# Files name the sites of strata, too; a folder of them does not.
folder <- tempfile("tables-")
dir.create(folder)
for (site in names(hospitals)) {
  table <- transform(hospitals[[site]], dead = as.integer(dead))
  write.csv(table, file.path(folder, paste0(site, ".csv")), row.names = FALSE)
}
of_files <- fitted(Surv(days, dead) ~ age + sex + strata(site),
                   data = list.files(folder, full.names = TRUE))
same(coef(of_files), coef(by_site))
fails(fitted(Surv(days, dead) ~ age + sex + strata(site), data = folder),
      "needs the names of all sites")
