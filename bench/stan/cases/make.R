# Makes the releases and the prior of this folder from one of the reference cases:
#
#   Rscript make.R ../../../model/modeltest/testdata/golden/lap1_n100_eps1.json
#
# The prior is the case's and so is lap1_n100_eps1. The two others are simulated from
# that prior: parameters, then n rows, then Laplace noise on the sums.
library(jsonlite)

golden <- read_json(commandArgs(trailingOnly = TRUE)[1], simplifyVector = TRUE)
prior <- golden$priors

write_case <- function(x, file) {
  write_json(x, file, auto_unbox = TRUE, digits = NA, pretty = TRUE)
}

# A release in scaled units, with the sums z; privacy where the noise has some to state.
write_release <- function(name, n, scale, z, privacy = NULL, simulated = FALSE) {
  column <- function(name) list(name = name, lower = -1, upper = 1)
  release <- list(format = "dpreg-release/1")
  if (simulated) release$simulated <- TRUE
  release$schema <- list(response = column("y"), covariates = list(column("x")), intercept = TRUE)
  release$privacy <- privacy
  release$n <- n
  release$noise <- c(list(kind = "laplace", scale = scale), if (!is.null(privacy)) list(sensitivity = 24))
  release$statistics <- list(
    sum_x = I(z$sum_x), sum_xx = matrix(z$sum_xx, 1), sum_y = z$sum_y, sum_xy = I(z$sum_xy), sum_yy = z$sum_yy
  )
  write_case(release, paste0(name, ".release.json"))
}

# The noisy sums of n rows whose law is drawn from the prior.
simulate <- function(seed, n, scale) {
  set.seed(seed)
  sigma2 <- 1 / rgamma(1, prior$a0, rate = prior$b0)
  theta <- prior$mu0 + sqrt(sigma2) * backsolve(chol(prior$Lambda0), rnorm(2))
  tau <- 1 / rgamma(1, prior$nu0 / 2, rate = prior$Psi0[1, 1] / 2)
  mu <- rnorm(1, prior$m0x, sqrt(tau / prior$lambda0x))
  x <- rnorm(n, mu, sqrt(tau))
  y <- theta[1] + theta[2] * x + rnorm(n, sd = sqrt(sigma2))
  s <- c(sum(x), sum(x^2), sum(y), sum(x * y), sum(y^2))
  z <- s + scale * rexp(5) * sample(c(-1, 1), 5, replace = TRUE)
  setNames(as.list(z), c("sum_x", "sum_xx", "sum_y", "sum_xy", "sum_yy"))
}

eps1 <- list(epsilon = 1, delta = 0, neighbours = "replace-one")
write_release("lap1_n100_eps1", 100, 24, golden$z, eps1)
write_release("lap1_n1000_eps1", 1000, 24, simulate(1, 1000, 24), eps1, simulated = TRUE)
write_release("lap1_n100_b1", 100, 1, simulate(2, 100, 1), simulated = TRUE)

write_case(list(
  units = "scaled",
  theta = list(mean = prior$mu0, precision = prior$Lambda0),
  sigma2 = list(shape = prior$a0, scale = prior$b0),
  covariates = list(mean = I(prior$m0x), kappa = prior$lambda0x, scale = prior$Psi0, dof = prior$nu0)
), "prior.json")
