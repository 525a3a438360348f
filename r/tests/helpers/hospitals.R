# Invented hospitals, as data frames.
hospital <- function(seed, rows) {
  set.seed(seed)
  risk <- round(runif(rows), 3)
  data.frame(
    patient = sprintf("P%d-%04d", seed, seq_len(rows)),
    age = pmin(pmax(round(rnorm(rows, 60, 14)), 20), 100),
    sex = sample(c("f", "F", "m"), rows, TRUE, c(0.4, 0.1, 0.5)),
    cholesterol = round(rnorm(rows, 230, 45), 1),
    days = ceiling(rexp(rows, 1 / 900)),
    died = rbinom(rows, 1, 0.6),
    risk = risk,
    disease = rbinom(rows, 1, risk),
    admitted = as.Date("2024-01-01") + sample(0:600, rows, TRUE)
  )
}

hospitals <- list(aachen = hospital(1, 400), bonn = hospital(2, 350), celle = hospital(3, 300))

# One question of each kind.
every_kind <- list(
  tacet_count(name = "women", where = "sex = f"),
  tacet_total("age", 20, 100, name = "years", where = c("age >= 40", "sex = m")),
  tacet_mean("age", 20, 100, name = "age", sites = c("aachen", "bonn")),
  tacet_mean(age ~ sex, 20, 100, name = "age by sex"),
  tacet_variance("cholesterol", 100, 400, name = "cholesterol"),
  tacet_normalise(list(age = c(20, 100), cholesterol = c(100, 400)), name = "scales"),
  tacet_histogram("cholesterol", tacet_cells(edges = c(0, 180, 220, 500)), name = "levels"),
  tacet_histogram(admitted ~ sex, tacet_cells(
    edges = as.Date(c("2024-01-01", "2024-07-01", "2025-01-01", "2026-01-01"))
  ), name = "admissions"),
  tacet_crosstab(~ sex + died, tacet_cells(categories = c("f", "m")),
                 tacet_cells(categories = 0:1), name = "deaths"),
  tacet_quantiles("age", tacet_cells(low = 20, high = 100, bins = 16), at = c(0.1, 0.5),
                  name = "ages"),
  tacet_median(age ~ sex, tacet_cells(low = 20, high = 100, bins = 16), name = "middle"),
  tacet_survival(Surv(days, died == 1) ~ sex, tacet_cells(high = 1500, bins = 15),
                 name = "survival", share = 4),
  tacet_proportion(disease == 1 ~ sex, name = "ill"),
  tacet_evaluation(disease == 1 ~ risk | sex, tacet_cells(bins = 10), name = "risk", share = 2),
  tacet_regression(disease == 1 ~ age + cholesterol,
                   list(age = c(20, 100), cholesterol = c(100, 400)), name = "slopes"),
  tacet_table1(~ age + sex | disease, bounds = list(age = c(20, 100)), groups = 0:1,
               name = "baseline")
)

every_kind_query <- do.call(tacet_query, c(every_kind, list(
  target_epsilon = 8, floor = 10, max_units = 1000,
  values = c("sex one-of=f|F,m", "admitted date")
)))
