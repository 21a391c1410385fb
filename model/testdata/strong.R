# Makes strong.csv: of rows whose covariates have one law each time, the sums of a release, and the slopes of maximum
# likelihood on the rows; of counts to 20 sums over 20, and slopes before counts are clamped. Rscript strong.R > strong.csv,
# with R 4.2.2.
set.seed(1)
n <- 50000
of01 <- function(share) function(k) (rbinom(k, 1, share) - share) / sqrt(share * (1 - share))
laws <- list(
  "normal" = rnorm,
  "uniform" = function(k) runif(k, -1, 1) * sqrt(3),
  "0/1 of 50 %" = of01(0.5), "0/1 of 30 %" = of01(0.3), "0/1 of 10 %" = of01(0.1), "0/1 of 90 %" = of01(0.9),
  "exponential" = function(k) rexp(k) - 1, "exponential down" = function(k) 1 - rexp(k),
  "t of 5" = function(k) rt(k, 5) / sqrt(5 / 3),
  "lognormal" = function(k) (exp(0.5 * rnorm(k)) - exp(0.125)) / sqrt(exp(0.25) * (exp(0.25) - 1)),
  "counts" = function(k) (rpois(k, 2) - 2) / sqrt(2),
  "five steps" = function(k) (sample(5, k, TRUE) - 3) / sqrt(2),
  "two groups" = function(k) (sample(c(-1.5, 1.5), k, TRUE) + rnorm(k)) / sqrt(3.25))
write1 <- function(family, law, sd, x, y) {
  slopes <- suppressWarnings(glm.fit(cbind(1, x), y, family = get(family)()))$coefficients[-1]
  if (family == "poisson") y <- pmin(y, 20) / 20
  v <- cov(cbind(x, y)) * (n - 1) / n
  cat(sprintf("%s,%s,%g,%s\n", family, law, sd, paste(signif(c(mean(y), v[lower.tri(v, TRUE)][1:9], slopes), 5), collapse = ",")))
}
cat("family,law,sd of the linear predictor,mean y,x1x1,x2x1,x3x1,yx1,x2x2,x3x2,yx2,x3x3,yx3,slope1,slope2,slope3\n")
for (sd in c(0.5, 1, 2)) {
  for (law in names(laws)) {
    x <- matrix(laws[[law]](3 * n), n)
    write1("binomial", law, sd, x, rbinom(n, 1, plogis(-0.5 + drop(x %*% c(2, -2, 1)) / 3 * sd)))
  }
}
for (sd in c(1, 2, 4)) { # normal at each y, of the slopes d (2, -2, 1)/3 with sd² = d² + d⁴/4
  d <- sqrt(2 * (sqrt(1 + sd^2) - 1))
  y <- rbinom(n, 1, 0.5)
  write1("binomial", "normal at each y", sd, outer(y, d * c(2, -2, 1) / 3) + rnorm(3 * n), y)
}
for (sd in c(0.25, 0.5, 1, 2)) {
  for (slopes in list(c(2, -2, 1) / 3, c(1, 0, 0))) {
    for (law in names(laws)) {
      x <- matrix(laws[[law]](3 * n), n)
      write1("poisson", law, sd, x, rpois(n, exp(0.5 + drop(x %*% slopes) * sd)))
    }
  }
}
for (sd in c(0.25, 0.5, 1)) { # of a rare y
  for (law in names(laws)) {
    x <- matrix(laws[[law]](3 * n), n)
    write1("binomial", paste(law, "of a rare y"), sd, x, rbinom(n, 1, plogis(-3.5 + drop(x %*% c(2, -2, 1)) / 3 * sd)))
  }
}
