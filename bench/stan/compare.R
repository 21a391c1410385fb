# Effective draws a CPU second of a method of dpreg and of a Stan program, on the
# same releases and prior. run.sh calls it:
#
#   Rscript compare.R ENGINES METHOD PROGRAM [CASE...]
suppressPackageStartupMessages({
  library(jsonlite)
  library(posterior)
  library(rstan)
})
rstan_options(boost_lib = "/usr/include")

chains <- 4
warmup <- 1000       # of each chain, either engine
draws_dpreg <- 10000 # of each chain: it is quick, and its time is to be measurable
draws_stan <- 1000
max_depth <- 10      # of a tree, Stan's default

# The cases of a program, and the metrics with which Stan runs it. A dense metric has
# no place where it would have to be estimated for all individuals.
programs <- list(
  individuals = list(cases = c("lap1_n100_eps1", "lap1_n1000_eps1"), metrics = "diag_e"),
  collapsed = list(
    cases = c("lap1_n100_eps1", "lap1_n1000_eps1", "lap1_n100_b1", "lap5_n1000_b10", "gau5_n1000_sd10", "gau10_n1000_sd5"),
    metrics = c("diag_e", "dense_e")
  )
)

release_file <- function(case) file.path("cases", paste0(case, ".release.json"))
prior_file <- function(case) sub("^[a-z]+([0-9]+)_.*", "cases/prior\\1.json", case) # its number of covariates is in its name

# The data of a Stan program: sums of (x, y), then of their products j <= k.
stan_data <- function(case) {
  r <- read_json(release_file(case), simplifyVector = TRUE)
  prior <- read_json(prior_file(case), simplifyVector = TRUE)
  s <- r$statistics
  products <- rbind(cbind(s$sum_xx, s$sum_xy), c(s$sum_xy, s$sum_yy))
  list(
    p = length(s$sum_x), n = r$n,
    gaussian = as.integer(r$noise$kind == "gaussian"), scale = r$noise$scale,
    z = c(s$sum_x, s$sum_y, products[lower.tri(products, diag = TRUE)]),
    mu0 = prior$theta$mean, Lambda0 = prior$theta$precision,
    a0 = prior$sigma2$shape, b0 = prior$sigma2$scale,
    m0 = as.array(prior$covariates$mean), kappa0 = prior$covariates$kappa,
    Psi0 = prior$covariates$scale, nu0 = prior$covariates$dof
  )
}

# What is told of a run. theta1 and sigma2 are matrices, a column a chain; info is
# a data frame of the sampler's own columns; seconds are summed over the chains.
measured <- function(case, engine, warmup_s, sampling_s, theta1, sigma2, info) {
  x <- list(theta1, log(sigma2))
  n <- length(theta1)
  ess <- sapply(x, ess_bulk)
  average <- function(column) if (is.null(info[[column]])) NA else mean(info[[column]])
  list(
    case = case, engine = engine, warmup_s = warmup_s, sampling_s = sampling_s, draws = n,
    leapfrogs = average("n_leapfrog__"), divergent = n * average("divergent__"),
    deepest = if (is.null(info$treedepth__)) NA else sum(info$treedepth__ >= max_depth),
    rhat = max(sapply(x, rhat)), mean = sapply(x, mean), mcse = sapply(x, mcse_mean),
    speed = ess / sampling_s,
    # of draws_stan draws a chain, whatever the length of this run
    speed_whole = ess / n * chains * draws_stan / (warmup_s + sampling_s / n * chains * draws_stan)
  )
}

run_dpreg <- function(engines, method, case) {
  dir <- tempfile()
  dir.create(dir)
  out <- system2(engines, c(
    "-method", method, "-prior", prior_file(case), "-save", dir, "-chains", chains,
    "-warmup", warmup, "-draws", draws_dpreg, "-seed", 1, release_file(case)
  ), stdout = TRUE)
  if (!is.null(attr(out, "status"))) stop(method, " failed on ", case)
  seconds <- fromJSON(out)
  paths <- file.path(dir, sprintf("draws-%d.csv", seq_len(chains)))
  files <- lapply(paths, read.csv, comment.char = "#")
  column <- function(name) sapply(files, `[[`, name)
  measured(
    case, method, seconds$warmup, seconds$sampling,
    column("theta.2"), column("sigma2"), do.call(rbind, files)
  )
}

run_stan <- function(model, metric, case) {
  fit <- sampling(model, stan_data(case),
    pars = c("theta", "sigma2"), chains = chains, cores = 1, seed = 1,
    warmup = warmup, iter = warmup + draws_stan, refresh = 0, control = list(metric = metric, max_treedepth = max_depth)
  )
  seconds <- colSums(get_elapsed_time(fit)) # of CPU time: Stan 2.21 reads clock()
  x <- as.array(fit)
  info <- as.data.frame(do.call(rbind, get_sampler_params(fit, inc_warmup = FALSE)))
  measured(
    case, paste("Stan", metric), seconds[["warmup"]], seconds[["sample"]],
    x[, , "theta[2]"], x[, , "sigma2"], info
  )
}

row <- function(...) cat("|", paste(c(...), collapse = " | "), "|\n")
heading <- function(...) {
  row(...)
  row("---", rep("--:", ...length() - 1))
}
number <- function(x, digits = 3) {
  ifelse(is.na(x), "-", formatC(signif(x, digits), format = "fg", big.mark = ","))
}

print_runs <- function(runs) {
  heading(
    "case, engine", "warm-up s", "sampling s", "draws", "leapfrogs a draw", "divergent", "at depth limit",
    "R-hat", "ESS/s theta_1", "ESS/s log sigma2"
  )
  for (r in runs) {
    row(
      paste0(r$case, ", ", r$engine), number(r$warmup_s), number(r$sampling_s), number(r$draws, 6),
      number(r$leapfrogs), number(r$divergent, 6), number(r$deepest, 6), sprintf("%.3f", r$rhat), number(r$speed)
    )
  }
}

# The rows of dpreg over those of Stan for the same case, and the distance of the
# means in standard errors, of theta_1 and of log sigma2.
print_ratios <- function(ours, stan) {
  heading(
    "case, rival", "sampling: theta_1", "log sigma2", "**smaller**",
    "with warm-up: theta_1", "log sigma2", "**smaller**", "means apart: theta_1", "log sigma2"
  )
  for (s in stan) {
    o <- ours[[s$case]]
    sampling <- o$speed / s$speed
    whole <- o$speed_whole / s$speed_whole
    apart <- (o$mean - s$mean) / sqrt(o$mcse^2 + s$mcse^2)
    row(
      paste0(s$case, ", ", s$engine), number(sampling), number(min(sampling)),
      number(whole), number(min(whole)), sprintf("%+.1f", apart)
    )
  }
}

main <- function(engines, method, program, ...) {
  known <- programs[[program]]
  if (is.null(known)) stop("no program ", program, "; there are ", paste(names(programs), collapse = ", "))
  cases <- if (...length() > 0) c(...) else known$cases
  ours <- sapply(cases, function(case) run_dpreg(engines, method, case), simplify = FALSE)
  model <- stan_model(paste0(program, ".stan"))
  stan <- list()
  for (case in cases) {
    for (metric in known$metrics) stan <- c(stan, list(run_stan(model, metric, case)))
  }

  cat("### ", method, " against ", program, ".stan\n\n", sep = "")
  cpu <- sub(".*: ", "", grep("model name", readLines("/proc/cpuinfo"), value = TRUE)[1])
  cat("One core of ", cpu, ", ", format(Sys.Date()), ", Stan ", stan_version(), ".\n\n", sep = "")
  print_runs(c(ours, stan))
  cat("\n")
  print_ratios(ours, stan)
  cat("\n")
}

do.call(main, as.list(commandArgs(trailingOnly = TRUE)))
