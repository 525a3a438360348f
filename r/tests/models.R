# Regression models: what a formula asks, and what R shows of a fitted model.
library(tacet)
source(file.path("helpers", "checks.R"))
source(file.path("helpers", "runs.R"))

asked <- function(...) tacet_glm(...)$keys
bounds <- list(bmi = c(10, 60), age = c(18, 100), crp = c(0.5, 300))

# A formula of R becomes that of the query, with all its columns.
keys <- asked(bmi ~ age * sex + log(crp), bounds)
same(keys$formula, "bmi ~ age + sex + log(crp) + age:sex")
same(keys$family, "gaussian")
same(unlist(keys$columns), c("bmi 10..60", "age 18..100", "sex", "crp 0.5..300"))
same(asked(log(bmi) ~ age)$formula, "log(bmi) ~ age")
same(asked(bmi ~ (age + sex)^2)$formula, "bmi ~ age + sex + age:sex")
same(asked(bmi ~ a * b * c - a:b:c)$formula, "bmi ~ a + b + c + a:b + a:c + b:c")
same(asked(`body mass` ~ `1` + log(`c r p`) + .b)$formula,
     "`body mass` ~ `1` + log(`c r p`) + .b")
same(unlist(asked(`body mass` ~ `1`, list(`1` = 0:1))$columns), c("body mass", "1 0..1"))
same(asked(bmi ~ age, share = 2)$share, 2)
for (family in list("binomial", binomial, binomial())) {
  same(asked(ill ~ age, family = family)$family, "binomial")
}
same(asked(n ~ age, family = poisson())$family, "poisson")

# A term that a query cannot express is refused, by name.
for (wrong in c("I(age^2)", "poly(age, 2)", "factor(sex)", "log2(age)", "log(age, 2)", "log(age + 1)",
                "log(log(age))", "offset(log(time))", "ns(age)", "`my fun`(age)")) {
  fails(asked(as.formula(paste("bmi ~ sex +", wrong))),
        paste0("\"", wrong, "\" cannot be asked"))
}
for (wrong in c("Surv(time, dead)", "cbind(yes, no)", "sqrt(bmi)")) {
  fails(asked(as.formula(paste(wrong, "~ sex"))), paste0("\"", wrong, "\" cannot be asked"))
}
fails(asked(died == 1 ~ sex), "the second agreed value of the response")
fails(asked(bmi ~ age - 1), "without intercept")
fails(asked(bmi ~ 0 + age), "without intercept")
fails(asked(bmi ~ .), "a query names each column")
fails(asked(bmi ~ 1), "no terms")
fails(asked(~ age), "formula with a response")
fails(asked("bmi ~ age"), "formula with a response")
fails(asked(as.formula(call("~", as.name("a`b"), as.name("c")))), "has a backtick")
fails(asked(ill ~ age, family = binomial("probit")), "the link \"probit\"")
fails(asked(bmi ~ age, list(weight = c(1, 2))), "bounds has \"weight\"")
fails(asked(bmi ~ age, weights = 3), "unknown argument \"weights\"")
fails(asked(bmi ~ age, query = tacet_query(target_epsilon = 1)), "give query and data")
fails(asked(bmi ~ age, query = "q.toml", data = "x.csv"), "query is no query")

# An exposure is the offset of its logarithm, and a column of the question.
keys <- asked(n ~ age + offset(log(`person years`)), list(n = c(0, 9), `person years` = c(1, 5)),
              family = poisson)
same(keys$formula, "n ~ age")
same(keys$exposure, "person years")
same(unlist(keys$columns), c("n 0..9", "age", "person years 1..5"))
same(asked(n ~ offset(log(t)) + a * b, family = "poisson")$formula, "n ~ a + b + a:b")
for (wrong in c("offset(t)", "offset(log(t + 1))", "offset(log2(t))", "offset(2 * log(t))")) {
  fails(asked(as.formula(paste("n ~ age +", wrong)), family = "poisson"),
        paste0("\"", wrong, "\" cannot be asked"))
}
fails(asked(n ~ age + offset(log(t)) + offset(log(u)), family = "poisson"), "\"offset(log(u))\"")
fails(asked(n ~ age + offset(log(t)), family = "binomial"), "with family = \"poisson\"")
fails(asked(n ~ offset(log(t)), family = "poisson"), "no terms")
fails(asked(n ~ age, family = "poisson", offset = 1), "unknown argument \"offset\"")
fails(asked(n ~ age + strata(site)), "Strata are strata(site), of tacet_cox")
fails(asked(Surv(t, d) ~ age), "Hazards are asked by tacet_cox")

# Answers of any family and kind: coefficients, and their ratios by whatever name.
effect <- function(quantity, group, value, low, high) {
  ends <- if (value == "null") "" else {
    sprintf(", \"noise_error\": 0.1, \"standard_error\": 0.2, \"low\": %s, \"high\": %s", low, high)
  }
  estimate(quantity, value, sprintf("%s, \"group\": \"%s\"", ends, group))
}
model_of <- function(ratio, values = c("0.7", "-0.2"), kind = "glm", more = character()) {
  groups <- c("age", "sex = m")
  number <- function(value, by) {
    if (value == "null") value else format(exp(as.numeric(value) + by), digits = 15)
  }
  run_with(c(
    more, estimate("count", "900"), effect("intercept", "", "1.5", 1.1, 1.9),
    unlist(Map(function(group, value) {
      ends <- if (value == "null") c(0, 0) else as.numeric(value) + c(-0.4, 0.4)
      effect("coefficient", group, value, ends[1], ends[2])
    }, groups, values)),
    if (ratio != "") unlist(Map(function(group, value) {
      effect(ratio, group, number(value, 0), number(value, -0.4), number(value, 0.4))
    }, groups, values))
  ), kind)
}
grDevices::pdf(NULL)
for (ratio in c("odds ratio", "rate ratio", "hazard ratio", "")) {
  kind <- if (ratio == "hazard ratio") "cox" else "glm"
  model <- tacet_model(suppressWarnings(tacet_answers(model_of(ratio, kind = kind))))
  same(coef(model), c(`(Intercept)` = 1.5, age = 0.7, `sex = m` = -0.2))
  same(round(confint(model, "age")[1, ], 6), c(`2.5 %` = 0.3, `97.5 %` = 1.1))
  same(rownames(confint(model, 2:3)), c("age", "sex = m"))
  same(nobs(model), 900)
  rows <- as.data.frame(model)
  same(rows$term, c("(Intercept)", "age", "sex = m"))
  stopifnot(ratio == "" || isTRUE(all.equal(rows$ratio, c(NA, exp(c(0.7, -0.2))))))
  same("ratio" %in% names(rows), ratio != "")
  shown <- capture.output(print(model))
  same(any(grepl("ratio", shown)), ratio != "")
  stopifnot(!any(grepl("NA", shown)), any(grepl("^sex = m +-0.2", shown)))
  # z and p are those of the error that holds the noise.
  figures <- summary(model)$coefficients
  same(figures["age", "z value"], 0.7 / 0.2)
  stopifnot(isTRUE(all.equal(figures["age", "Pr(>|z|)"], 2 * pnorm(-3.5))))
  stopifnot(any(grepl("hold the noise", capture.output(print(summary(model))))))
  # The axis of ratios is logarithmic, and has 1 on it.
  plot(model)
  same(par("xlog"), ratio != "")
  ends <- if (ratio == "") par("usr")[1:2] else 10^par("usr")[1:2]
  neutral <- if (ratio == "") 0 else 1
  stopifnot(ends[1] < neutral, neutral < ends[2])
}
fails(confint(model, "weight"), "no term is called \"weight\"")
# Answers that a program did not write may lack covariances.
stopifnot(is.na(vcov(model)), is.na(confint(model, level = 0.9)))

# Coefficients that are suppressed are said to be so, and have a cross.
hidden <- tacet_answers(model_of("odds ratio", c("null", "0.3")))
stopifnot(any(grepl("NA is suppressed", capture.output(print(tacet_model(hidden))))))
same(unname(is.na(coef(tacet_model(hidden)))), c(FALSE, TRUE, FALSE))
plot(hidden, "age", "coefficients")
all_hidden <- tacet_model(tacet_answers(model_of("odds ratio", c("null", "null"))))
plot(all_hidden)
stopifnot(length(capture.output(print(summary(all_hidden)))) > 5)
# Ends that a number cannot hold.
extreme <- run_with(c(
  effect("coefficient", "a", "-800", -900, -700), effect("coefficient", "b", "1", 0, 2),
  effect("hazard ratio", "a", "0", 0, "1e-304"), effect("hazard ratio", "b", "2.7", 1, "null")
))
plot(tacet_answers(extreme))
invisible(grDevices::dev.off())
# A discriminant's coefficients are no effects.
slopes <- tacet_answers(run_with(estimate("coefficient", "1", ", \"group\": \"a\""), "regression"))
fails(tacet_model(slopes), "has no coefficients with intervals")
fails(tacet_model(tacet_answers(run_with(estimate("mean", "1")))), "is of kind mean")
two <- tacet_answers(extreme)
two$questions <- c(two$questions, two$questions)
names(two$questions) <- c("one", "two")
fails(tacet_model(two), "name the question; there are: one, two")
# Terms of a file do not steer the terminal.
evil <- tacet_model(tacet_answers(run_with(
  estimate("coefficient", "1", ", \"group\": \"a\\u001b[2J\\n\", \"low\": 0, \"high\": 2")
)))
stopifnot(!any(grepl("\033", c(capture.output(print(evil)), capture.output(summary(evil))))))

# The program's model is that of glm() over all tables, within what it says of itself.
source(file.path("helpers", "program.R"))
set.seed(3)
hospital <- function(rows) {
  age <- pmin(pmax(round(rnorm(rows, 60, 12)), 20), 100)
  sex <- sample(c("f", "m"), rows, TRUE)
  data.frame(age, sex, ill = rbinom(rows, 1, plogis(-3 + 0.04 * age + 0.5 * (sex == "m"))),
             bmi = round(25 + 0.05 * age + rnorm(rows), 2))
}
hospitals <- list(aachen = hospital(4000), bonn = hospital(3000), celle = hospital(3000))
pooled <- do.call(rbind, hospitals)
terms <- tacet_query(target_epsilon = 8, max_units = 5000, values = "sex one-of=f,m")
for (family in c("binomial", "gaussian")) {
  formula <- if (family == "binomial") ill ~ age + sex else bmi ~ age * sex
  bounds <- list(ill = c(0, 1), bmi = c(15, 40), age = c(20, 100))[c(all.vars(formula)[1], "age")]
  model <- tacet_glm(formula, bounds, family = family, name = "paper", query = terms,
                     data = hospitals, out = tempfile("run-"), insecure_seed = 5)
  exact <- glm(formula, family, pooled)
  same(sub(" = ", "", names(coef(model))), names(coef(exact)))
  noise <- as.data.frame(model)$noise_error
  distance <- abs(unname(coef(model)) - unname(coef(exact))) / noise
  stopifnot(all(noise > 0), max(distance) > 0, max(distance) < 4)
  stopifnot(all(noise < as.data.frame(model)$standard_error))
  covariance <- vcov(model)
  same(rownames(covariance), names(coef(model)))
  stopifnot(isTRUE(all.equal(unname(diag(covariance)),
                             as.data.frame(model)$standard_error^2)))
  # With little noise the correlations are about those of glm().
  stopifnot(abs(cov2cor(covariance) - cov2cor(vcov(exact)))[1, 2] < 0.2)
  narrow <- confint(model, level = 0.5)
  same(colnames(narrow), c("25 %", "75 %"))
  stopifnot(confint(model)[, 1] < narrow[, 1], narrow[, 2] < confint(model)[, 2])
  stopifnot(isTRUE(all.equal(unname(confint(model)[, 1]), as.data.frame(model)$low)))
  same(names(model$answers$questions), "paper")
  stopifnot(any(grepl("epsilon 8.000", capture.output(print(model)))))
  paper <- tacet_table(model$answers, "paper", "markdown")
  title <- if (family == "binomial") "| Term | Odds ratio (95 % CI) |" else "| Term | Coefficient"
  stopifnot(grepl(title, paper, fixed = TRUE), grepl("\n| age | ", paper, fixed = TRUE),
            endsWith(paper, "\n"))
  fails(tacet_table(model$answers, "paper"), "only table1 has a table")
  fails(tacet_table(model$answers, "paper", "word"), "expected one of html, csv, latex, markdown")
}
# A query of its own evaluates the risks of a released model.
asked <- tacet_glm(ill ~ age + sex, list(ill = c(0, 1), age = c(20, 100)), family = binomial)
logistic <- tacet_glm(ill ~ age + sex, list(ill = c(0, 1), age = c(20, 100)), family = binomial,
                      query = terms, data = hospitals, out = tempfile("run-"), insecure_seed = 5)
risks <- tacet_calibration(asked, logistic, tacet_cells(bins = 5), ill == 1, threshold = 0.4,
                           name = "risks")
same(risks$keys$formula, "age + sex")
same(unlist(risks$keys$columns), c("age 20..100", "sex"))
same(unlist(risks$keys$coefficients), unname(coef(logistic)))
same(unlist(risks$keys$terms), c("age", "sex = m"))
terms$questions <- list(risks)
evaluated <- tacet_ask(terms, hospitals, out = tempfile("run-"), insecure_seed = 6)
risk <- plogis(coef(logistic)[1] + coef(logistic)[2] * pooled$age +
                 coef(logistic)[3] * (pooled$sex == "m"))
shares <- subset(as.data.frame(evaluated), quantity == "observed share")
seen <- tapply(pooled$ill, cut(risk, seq(0, 1, 0.2), right = FALSE), mean)
known <- !is.na(seen) & !is.na(shares$value)
stopifnot(sum(known) >= 2, abs(shares$value - seen)[known] < 0.15)
grDevices::pdf(NULL)
plot(evaluated, what = "calibration")
invisible(grDevices::dev.off())
fails(tacet_calibration(tacet_glm(ill ~ age), logistic, tacet_cells(bins = 5), ill == 1),
      "no logistic model's question")
fails(tacet_calibration(asked, model, tacet_cells(bins = 5), ill == 1), "model is no logistic model")
# The column of the response is left out, and not one that begins with its name.
since <- tacet_glm(ill ~ `ill since`, list(ill = c(0, 1), `ill since` = c(0, 9)), family = binomial)
same(unlist(tacet_calibration(since, logistic, tacet_cells(bins = 5), ill == 1)$keys$columns),
     "ill since 0..9")
for (level in list(95, 0, "0.9", c(0.9, 0.95))) fails(confint(model, level = level), "between 0 and 1")
terms$questions <- list()
# The program says what it refuses.
fails(tacet_glm(ill ~ age:sex, list(ill = 0:1, age = c(20, 100)), query = terms, data = hospitals,
                out = tempfile("run-")), "needs the term")
# Rates, with the time of each row as exposure.
visits <- function(rows) {
  age <- pmin(pmax(round(rnorm(rows, 60, 12)), 20), 100)
  years <- round(runif(rows, 0.5, 4), 2)
  data.frame(age, years, visits = rpois(rows, years * exp(-0.5 + 0.02 * (age - 60))))
}
hospitals <- list(aachen = visits(4000), bonn = visits(3000), celle = visits(3000))
formula <- visits ~ age + offset(log(years))
model <- tacet_glm(formula, list(visits = c(0, 12), age = c(20, 100), years = c(0.5, 4)),
                   family = poisson, query = tacet_query(target_epsilon = 8, max_units = 5000),
                   data = hospitals, out = tempfile("run-"), insecure_seed = 5)
exact <- coef(glm(formula, poisson, do.call(rbind, hospitals)))
noise <- as.data.frame(model)$noise_error
distance <- abs(unname(coef(model)) - unname(exact)) / noise
stopifnot(all(noise > 0), max(distance) > 0, max(distance) < 4)
stopifnot(confint(model)[, 1] < exact, exact < confint(model)[, 2])
same(model$ratio, "rate ratio")
