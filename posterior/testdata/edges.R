# Writes edges.json: what R's posterior 1.4.0 makes of draws that are hard to
# diagnose. (Of chains of 2 or 3 draws R transposes the split and reports an
# R-hat of that; dpreg says NaN.) Run as: Rscript edges.R > edges.json
suppressMessages(library(posterior))
options(warn = -1)
set.seed(20240601)
wave <- function(n, k) round(sin(k * seq_len(n)^1.1) * 8) / 8
cases <- list(
  four = matrix(wave(8, 1.7), 4),
  six = matrix(wave(12, 2.1), 6), seven = matrix(wave(14, 2.3), 7),
  eight = matrix(wave(8, 0.7), 8), nine = matrix(wave(27, 0.9), 9),
  two_values = matrix(rep(c(0, 1), 20), 20), rare = matrix(c(rep(0, 95), 1, rep(0, 104)), 100),
  infinite = matrix(c(Inf, wave(118, 1.9), -Inf), 40),
  missing = matrix(c(wave(70, 1.1), NaN, wave(49, 1.2)), 40),
  stuck_apart = matrix(rep(c(1, 2, 3), each = 50), 50),
  one_stuck = cbind(wave(60, 1.5), rep(0.25, 60)),
  tiny = matrix(wave(200, 1.4), 100) * 1e-18,
  alternating = matrix(rep(c(1, -1), 100) + wave(200, 0.3) / 64, 100),
  trend = matrix(seq_len(600) / 64, 200),
  slow = matrix(round(cumsum(wave(4000, 1.9)) * 8) / 8, 1000)
)
number <- function(v) if (is.na(v)) "null" else if (is.infinite(v)) sprintf('"%s"', v) else format(v, digits = 17)
numbers <- function(v) paste0("[", paste(vapply(v, function(u)
  if (is.nan(u)) '"NaN"' else if (is.infinite(u)) sprintf('"%s"', u) else format(u, digits = 17), ""), collapse = ","), "]")
one <- function(name) {
  x <- cases[[name]]
  results <- list(rhat = rhat(x), ess_bulk = ess_bulk(x), ess_tail = ess_tail(x), ess_mean = ess_mean(x),
    ess_sd = ess_sd(x), mcse_mean = mcse_mean(x), mcse_sd = mcse_sd(x))
  if (!anyNA(x)) results <- c(results, q0 = ess_quantile(x, 0)[[1]], q0.3 = ess_quantile(x, 0.3)[[1]],
    q1 = ess_quantile(x, 1)[[1]], mcse_q0.3 = mcse_quantile(x, 0.3)[[1]])
  paste0('{"name":"', name, '","draws":[', paste(apply(x, 2, numbers, simplify = FALSE), collapse = ","), '],"results":{',
    paste0('"', names(results), '":', vapply(results, number, ""), collapse = ","), "}}")
}
cat('{"source":"R posterior ', as.character(packageVersion("posterior")), ' ', R.version.string, '","cases":[\n',
  paste(vapply(names(cases), one, ""), collapse = ",\n"), "\n]}\n", sep = "")
