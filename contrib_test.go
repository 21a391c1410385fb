package dpreg_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
)

// The files of contrib call dpreg.
const (
	inR = `source("dpreg.R")
stopifnot(inherits(try(dpreg_infer("nowhere.json"), silent = TRUE), "try-error"))
fit <- dpreg_infer("../testdata/pums-eps1.release.json", income ~ educ, prior = "educ ~ normal(4000, 5000)", seed = 3)
invisible(capture.output(print(fit)))
draws <- posterior::as_draws(fit)
stopifnot(inherits(draws, "draws_array"), posterior::nchains(draws) == 4, "mean(educ)" %in% posterior::variables(draws))
at <- which(fit$summary$label == "educ")
s <- posterior::summarise_draws(draws[, , "educ"])
stopifnot(isTRUE(all.equal(as.numeric(s$mean), fit$summary$mean[at])), isTRUE(all.equal(as.numeric(s$ess_bulk), fit$summary$ess_bulk[at])))
answers <- dpreg_ask(fit, "educ > 0", "educ - 1000")
p <- posterior::extract_variable(draws, "educ")
stopifnot(isTRUE(all.equal(answers$probability[1], mean(p > 0))), isTRUE(all.equal(answers$mean[2], mean(p) - 1000)))
rows <- dpreg_predict(fit, data.frame(educ = c(8, 13)), mean = TRUE)
line <- posterior::extract_variable(draws, "(Intercept)") + 13 * p
stopifnot(isTRUE(all.equal(rows$.fitted[2], mean(line))))
`
	inPython = `import dpreg, statistics
dpreg.PROGRAM = %q
try:
    dpreg.infer("nowhere.json")
    raise SystemExit("no error")
except dpreg.Error as e:
    assert "nowhere.json" in str(e), e
rows = lambda frame: frame.to_dict("records") if hasattr(frame, "to_dict") else frame
fit = dpreg.infer("../testdata/pums-eps1.release.json", formula="income ~ educ", seed=3)
draws = [row["educ"] for row in rows(fit.draws)]
mean = next(row["mean"] for row in rows(fit.summary) if row["label"] == "educ")
close = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
assert close(statistics.fmean(draws), mean), (statistics.fmean(draws), mean)
answer, = rows(fit.ask("educ > 0"))
assert close(answer["probability"], sum(d > 0 for d in draws) / len(draws)), answer
a, b = rows(fit.predict([{"educ": 8}, {"educ": 13}], mean=True))
assert close(b[".fitted"] - a[".fitted"], 5 * mean), (a, b)
`
)

// TestContribR: the R file gives draws whose summary is the program's.
func TestContribR(t *testing.T) {
	testsize.Full(t, "it builds dpreg")
	rscript, err := exec.LookPath("Rscript")
	if err == nil {
		err = exec.Command(rscript, "-e", `find.package(c("posterior", "jsonlite"))`).Run()
	}
	if err != nil {
		if os.Getenv("DPREG_REQUIRE_R") == "1" {
			t.Fatal("R with posterior and jsonlite is required")
		}
		t.Skip("R with posterior and jsonlite is not here")
	}
	ranInContrib(t, rscript, "-e", `options(dpreg.program = "`+must.Get(program())(t)+`")`+"\n"+inR)
}

// TestContribPython: the Python file needs the standard library alone.
func TestContribPython(t *testing.T) {
	testsize.Full(t, "it builds dpreg")
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 9))").Run()
	}
	if err != nil {
		t.Skip("Python 3.9 is not here")
	}
	ranInContrib(t, python, "-c", strings.Replace(inPython, "%q", `r"`+must.Get(program())(t)+`"`, 1))
}

func ranInContrib(t *testing.T, language string, args ...string) {
	t.Helper()
	run := exec.Command(language, args...)
	run.Dir = "contrib"
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
