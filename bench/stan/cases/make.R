# Makes the releases and the priors of this folder, one prior for each number of covariates, from one
# of the reference cases:
#
#   Rscript make.R ../../../model/modeltest/testdata/golden/lap1_n100_eps1.json
#
# lap1_n100_eps1 is the case's. The others are simulated from the priors: parameters, then n rows, then
# noise on the sums.
library(jsonlite)

golden <- read_json(commandArgs(trailingOnly = TRUE)[1], simplifyVector = TRUE)

# The case's prior of one covariate, and that of p of the same marginal laws.
prior <- function(p) {
  one <- golden$priors
  list(
    mu0 = rep(0, p + 1), Lambda0 = one$Lambda0[1, 1] * diag(p + 1), a0 = one$a0, b0 = one$b0,
    m0x = rep(0, p), lambda0x = one$lambda0x, Psi0 = one$Psi0[1, 1] * diag(p), nu0 = one$nu0 + p - 1
  )
}

write_case <- function(x, file) {
  write_json(x, file, auto_unbox = TRUE, digits = NA, pretty = TRUE)
}

# A release in scaled units, with the sums z; privacy where the noise has some to state.
write_release <- function(name, p, n, kind, scale, z, privacy = NULL, simulated = FALSE) {
  column <- function(name) list(name = name, lower = -1, upper = 1)
  covariates <- if (p == 1) "x" else paste0("x", seq_len(p))
  release <- list(format = "dpreg-release/1")
  if (simulated) release$simulated <- TRUE
  release$schema <- list(response = column("y"), covariates = lapply(covariates, column), intercept = TRUE)
  release$privacy <- privacy
  release$n <- n
  release$noise <- c(list(kind = kind, scale = scale), if (!is.null(privacy)) list(sensitivity = 24))
  release$statistics <- list(
    sum_x = I(z$sum_x), sum_xx = matrix(z$sum_xx, p), sum_y = z$sum_y, sum_xy = I(z$sum_xy), sum_yy = z$sum_yy
  )
  write_case(release, paste0(name, ".release.json"))
}

# The noisy sums of n rows whose law is drawn from the prior.
simulate <- function(seed, p, n, kind, scale) {
  set.seed(seed)
  prior <- prior(p)
  sigma2 <- 1 / rgamma(1, prior$a0, rate = prior$b0)
  theta <- prior$mu0 + sqrt(sigma2) * backsolve(chol(prior$Lambda0), rnorm(p + 1))
  tau <- solve(matrix(rWishart(1, prior$nu0, solve(prior$Psi0)), p))
  mu <- prior$m0x + drop(t(chol(tau)) %*% rnorm(p)) / sqrt(prior$lambda0x)
  x <- matrix(rnorm(n * p), n) %*% chol(tau) + rep(mu, each = n)
  y <- drop(cbind(1, x) %*% theta) + rnorm(n, sd = sqrt(sigma2))
  noise <- function(k) scale * if (kind == "gaussian") rnorm(k) else rexp(k) * sample(c(-1, 1), k, replace = TRUE)
  xx <- crossprod(x)
  xx[lower.tri(xx, diag = TRUE)] <- xx[lower.tri(xx, diag = TRUE)] + noise(p * (p + 1) / 2)
  xx[upper.tri(xx)] <- t(xx)[upper.tri(xx)]
  list(
    sum_x = colSums(x) + noise(p), sum_xx = xx, sum_y = sum(y) + noise(1),
    sum_xy = drop(crossprod(x, y)) + noise(p), sum_yy = sum(y^2) + noise(1)
  )
}

write_simulated <- function(name, seed, p, n, kind, scale, ...) {
  write_release(name, p, n, kind, scale, simulate(seed, p, n, kind, scale), ..., simulated = TRUE)
}

eps1 <- list(epsilon = 1, delta = 0, neighbours = "replace-one")
write_release("lap1_n100_eps1", 1, 100, "laplace", 24, golden$z, eps1)
write_simulated("lap1_n1000_eps1", 1, 1, 1000, "laplace", 24, eps1)
write_simulated("lap1_n100_b1", 2, 1, 100, "laplace", 1)
write_simulated("lap5_n1000_b10", 3, 5, 1000, "laplace", 10)
write_simulated("gau5_n1000_sd10", 4, 5, 1000, "gaussian", 10)
write_simulated("gau10_n1000_sd5", 5, 10, 1000, "gaussian", 5)

for (p in c(1, 5, 10)) {
  x <- prior(p)
  write_case(list(
    units = "scaled",
    theta = list(mean = x$mu0, precision = x$Lambda0),
    sigma2 = list(shape = x$a0, scale = x$b0),
    covariates = list(mean = I(x$m0x), kappa = x$lambda0x, scale = x$Psi0, dof = x$nu0)
  ), paste0("prior", p, ".json"))
}
