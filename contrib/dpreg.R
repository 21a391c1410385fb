# dpreg from R: calls the program, and gives data frames and draws objects.
#
#   source("contrib/dpreg.R")
#   fit <- dpreg_infer("people.release.json", "income ~ age + educ")
#   fit$summary                          # a data frame, a row for each parameter
#   posterior::summarise_draws(fit$draws)  # draws by the names of the columns
#   dpreg_ask(fit, "educ > 0", "educ = 20*age")
#   dpreg_predict(fit, new_rows)
#
# A release holds no rows, so nothing here costs privacy. Rows are released by the program
# itself, `dpreg release`, which is not called from here: it spends epsilon.
#
# Needs jsonlite, and posterior for draws. options(dpreg.program = "/path/to/dpreg") where the
# program is not on the PATH.

# Runs dpreg; its standard output as lines. Exit code 4 (chains that did not converge) is a
# warning, any other but 0 an error with what the program says.
dpreg_run <- function(args) {
  said <- tempfile()
  on.exit(unlink(said))
  program <- getOption("dpreg.program", "dpreg")
  out <- suppressWarnings(system2(program, shQuote(args), stdout = TRUE, stderr = said))
  code <- attr(out, "status")
  messages <- paste(readLines(said, warn = FALSE), collapse = "\n")
  if (is.null(code) || code == 0) {
    if (nzchar(messages)) message(messages)
  } else if (code == 4) {
    warning(messages, call. = FALSE)
  } else {
    stop(messages, call. = FALSE)
  }
  as.character(out)
}

# Flags of a named list: list(pooling = "partial", what_if = TRUE, prior = c(a, b)).
dpreg_flags <- function(flags) {
  out <- character()
  for (name in names(flags)) {
    flag <- paste0("--", gsub("_", "-", name))
    for (value in flags[[name]]) {
      out <- c(out, if (is.logical(value)) paste0(flag, "=", tolower(value)) else c(flag, format(value, digits = 15, trim = TRUE)))
    }
  }
  out
}

# The posterior given one release or several. Further arguments are flags of `dpreg infer`, such
# as prior = "educ ~ normal(4000, 2000)" or seed = 1.
#
# A list of class dpreg_fit: summary, a data frame with a row for each parameter; draws, of class
# draws_array; json, all of `dpreg infer --format json`; dir, where the files are.
dpreg_infer <- function(releases, formula = NULL, ..., dir = tempfile("dpreg")) {
  flags <- dpreg_flags(list(...))
  if (!is.null(formula)) {
    formula <- if (inherits(formula, "formula")) paste(deparse(formula, 500), collapse = " ") else formula
    flags <- c("--formula", formula, flags)
  }
  dpreg_run(c("infer", path.expand(releases), flags, "--quiet", "--names", "labels", "--save", dir))
  json <- jsonlite::fromJSON(file.path(dir, "summary.json"))
  structure(list(summary = json$parameters, draws = dpreg_draws(dir), json = json, dir = dir), class = "dpreg_fit")
}

# Draws in a directory that `dpreg infer --save` wrote: class draws_array, the sampler's columns
# (lp__ and so on) left out.
dpreg_draws <- function(dir) {
  files <- Sys.glob(file.path(dir, "draws-*.csv"))
  if (length(files) == 0) stop(dir, " has no draws-1.csv")
  files <- files[order(as.integer(gsub("\\D", "", basename(files))))]
  chains <- lapply(files, function(file) {
    chain <- utils::read.csv(file, comment.char = "#", check.names = FALSE)
    posterior::as_draws_array(as.matrix(chain[!grepl("__$", names(chain))]))
  })
  do.call(posterior::bind_draws, c(chains, along = "chain"))
}

# Answers of `dpreg ask`, a data frame with a row for each question. Without a question: R2,
# standardised slopes, means, sds and correlations.
dpreg_ask <- function(fit, ..., level = 0.95) {
  questions <- c(...)
  out <- dpreg_run(c("ask", dpreg_source(fit), questions, "--format", "csv", "--level", format(level)))
  utils::read.csv(text = out, check.names = FALSE)
}

# Predictions for new rows, a data frame: the rows with .fitted, .sd, .lower, .upper and .outside.
# mean = TRUE: of the regression line in place of a new response.
dpreg_predict <- function(fit, rows, mean = FALSE, level = 0.95) {
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  utils::write.csv(rows, file, row.names = FALSE)
  out <- dpreg_run(c("predict", "--draws", dpreg_source(fit), file, "--level", format(level), if (mean) "--mean"))
  utils::read.csv(text = out, check.names = FALSE)
}

# What to ask: the directory of a fit, or the name of one, or of a release.
dpreg_source <- function(fit) if (inherits(fit, "dpreg_fit")) fit$dir else path.expand(fit)

print.dpreg_fit <- function(x, digits = 4, ...) {
  j <- x$json
  cat(j$formula, ", method ", j$method, ", n = ", j$n, ", ", j$units, " units\n\n", sep = "")
  main <- grepl("^(theta\\[|sigma$)", x$summary$name)
  columns <- c("label", "mean", "sd", "lower", "upper", "rhat", "ess_bulk", "ess_tail", "contraction")
  print(x$summary[main, columns], digits = digits, row.names = FALSE)
  for (text in j$warnings) cat("\nWarning: ", text, "\n", sep = "")
  invisible(x)
}

as_draws.dpreg_fit <- function(x, ...) x$draws
if (requireNamespace("posterior", quietly = TRUE)) {
  registerS3method("as_draws", "dpreg_fit", as_draws.dpreg_fit, envir = asNamespace("posterior"))
}
registerS3method("print", "dpreg_fit", print.dpreg_fit)
