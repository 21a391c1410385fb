package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/gibbs"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/mechanisms/ledger"
	"github.com/dpreg/dpreg/model"
	"github.com/dpreg/dpreg/nuts/individual"
	"github.com/dpreg/dpreg/plan"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/shares"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi/network"
)

// flags are what a command line says. A command has those that it declares; the others have
// their zero values.
type flags struct {
	cmd *cobra.Command

	// Data: rows and columns, or what is assumed of them.
	byLevel                          string
	perLevel                         bool
	bounds, levels, na               []string
	schema, formula, missing, other  string
	from, table, aggregates, dialect string
	delim, decimal, encoding         string
	rows                             int64
	population, dir, dataName        string
	n, p, rowLaw, covariateLaw       string
	means, sds, covariate            string
	width, slope, r2, test           float64
	holdsData                        bool
	stated                           schema.Bounds // of --bounds and --levels
	share                            float64       // of ε, for --bounds auto; 0: without it

	// Privacy.
	epsilon, delta, mechanism, neighbours, ledger, filter string
	spendAgain, moments, nonPrivate, noLedger             bool
	head, person, personRows, signKey                     string
	verify                                                []string
	statement                                             bool
	mu, rho, padTime                                      float64
	session, memberKey                                    string // of custodians who add up
	server, listen, agree                                 string // of clients over a network
	identity                                              network.Identity
	wait                                                  float64
	colluding, absent                                     int
	former                                                string
	badCell                                               string
	sensitivity, audited, releases                        string
	looks                                                 string // --steps of a release
	split                                                 int
	account                                               accountInputs

	// The model.
	priors, priorSDs                    []string
	shrink, printPrior                  bool
	method, kernel, covariates, pooling string
	family                              string
	methods                             []string
	clamping, sameRows, whatIf, line    bool
	custodian, model, group, preset     string
	priorSD, errorSD                    float64
	prior                               model.StatedPrior // of --prior, --prior-sd and --shrink

	// Sampling, or how else a result is found.
	chains, warmup, draws, calibrate, simulated int
	ess, batchRate, clip, learningRate, damping float64
	batch, iterations, rounds, trials, jobs     int
	seed                                        uint64
	shard                                       string
	noGrid                                      bool

	// Output.
	output, format, units, save, page, plot, plots, release string
	level                                                   float64
	digits                                                  int
	pictures, quiet, sign, parquet                          bool
	along                                                   string
	heads                                                   string // --names
	port                                                    int
}

// Limits beyond which a number is a slip of the keyboard: memory would not do.
const (
	maxChains = 1000
	maxDraws  = 10_000_000
)

const formulaUsage = "`FORMULA` such as 'y ~ x1 + x2', 'y ~ .' or 'y ~ x - 1'; "

// Flags that commands have together.
const (
	columnFlags  = " schema bounds levels other formula on-bad-cell missing na "
	fileFlags    = " delim decimal encoding "
	remoteFlags  = " from table aggregates "
	priorFlags   = " prior prior-sd shrink "
	samplerFlags = priorFlags + " method kernel model-clamping chains warmup ess seed "
	sharingFlags = " covariates pooling "
	studyFlags   = columnFlags + fileFlags + " n p data i-hold-the-data eps delta steps method trials jobs seed shard save format "
)

// all declares the flags of some names, in the order of --help: what everybody needs comes first.
func (f *flags) all(of func(name string) bool) (all []declared) {
	for i, group := range [][]declared{f.ofData(), f.ofPrivacy(), f.ofModel(), f.ofSampling(), f.ofOutput(), f.ofNetwork()} {
		for _, d := range group {
			if of(d.name) {
				d.group = groupNames[i]
				all = append(all, d)
			}
		}
	}
	return all
}

func (f *flags) ofData() []declared {
	return []declared{
		{name: "n", to: &f.n, usage: "numbers of records, a `LIST` such as 200,1000"},
		{name: "p", to: &f.p, usage: "of simulated rows: numbers of covariates, a `LIST` (default 1)"},
		{name: "p", of: "compare", to: &f.p, usage: "of simulated rows: numbers of covariates, a `LIST` (default 2)"},
		{name: "p", of: "plan", to: &f.p, usage: "`NUMBER` of covariates, each on [-1, 1]; or give --schema"},
		{name: "name", to: &f.dataName, usage: "what was released, by which software, a `TEXT` for whoever reads the ledger"},
		{name: "data", of: "init", to: &f.dataName, usage: "public `NAME` of the data set, such as its file"},
		{name: "schema", to: &f.schema, usage: "Frictionless Table Schema `FILE` with columns, public bounds and levels (default: data.schema.json beside data.csv)"},
		{name: "schema", of: "plan", to: &f.schema, usage: "Frictionless Table Schema `FILE` with columns, public bounds and levels"},
		{name: "schema", of: "sql", to: &f.schema, usage: "Frictionless Table Schema `FILE` with columns, public bounds and levels (default: table.schema.json, if it is there)"},
		{name: "bounds", to: &f.bounds, usage: "public bounds of a column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file"},
		{name: "bounds", of: "release fit", to: &f.bounds, usage: "public bounds of a column, `NAME=LOWER:UPPER`; repeatable; wins over a schema file; or auto[=SHARE]: columns without get bounds found in the rows, for a share of ε (0.1)"},
		{name: "levels", to: &f.levels, usage: "public levels of a column of categories, the baseline first, `NAME=LEVEL,LEVEL`; repeatable; wins over a schema file"},
		{name: "on-bad-cell", to: &f.badCell, value: string(table.BadError), words: []string{string(table.BadError), string(table.BadMissing)}, usage: "`NAME`: what to do about a cell that is no number, truth value or level as its column wants: error, or missing, of which --missing says the rest"},
		{name: "other", to: &f.other, usage: "`LEVEL` that a cell counts as which has none of its column's levels, where LEVEL is one of these; added to all as the last where no column has it (default: such a cell is an error)"},
		{name: "formula", to: &f.formula, usage: formulaUsage + "default: the last column on all others"},
		{name: "formula", of: "infer check predict ask models", to: &f.formula, usage: formulaUsage + "default: the release's own"},
		{name: "draws", of: "predict", to: &f.dir, usage: "predict from the draws in this `DIR`, which dpreg infer --save wrote"},
		{name: "population", to: &f.population, usage: "draw the rows with replacement from those of this `FILE`, coded and clamped; the truth is least squares on all of them"},
		{name: "test", to: &f.test, value: "0.2", usage: "share of the table's rows that is predicted, a `NUMBER` between 0 and 1"},
		{name: "data", to: &f.rowLaw, words: []string{string(calibration.Unclamped), string(calibration.Clamped)}, usage: "of simulated rows: `NAME` of what becomes of values outside the bounds: unclamped (default) or clamped"},
		{name: "x", to: &f.covariateLaw, words: []string{string(calibration.NormalX), string(calibration.BinaryX), string(calibration.SkewedX)}, usage: "`NAME` of the law of the covariates: normal (default), binary or skewed"},
		{name: "covariate", to: &f.covariate, usage: "`NAME` of the covariate whose slope is shown (default: the first; with --p, the mean over slopes)"},
		{name: "width", to: &f.width, accepts: &limits{isPositive.holds, "a number above 0 is needed, in the units of the response over those of the covariate"}, usage: "find the smallest ε for each --n, or the smallest n for each --eps, with an interval no wider than this `NUMBER`, in the data's units"},
		{name: "of", to: &f.covariate, usage: "`NAME` of the covariate whose interval --width is about: the same as --covariate"},
		{name: "slope", to: &f.slope, accepts: isFinite, usage: "true slope of the simulated rows, a `NUMBER` (default: as --r2 has it)"},
		{name: "mean", of: "plan", to: &f.means, usage: "means of columns, a `LIST` such as age=40,income=30000 (default: 3/8 of the way between the bounds; of a 0/1 column its share)"},
		{name: "sd", to: &f.sds, usage: "standard deviations of columns, a `LIST` such as age=15,income=40000 (default: an eighth of the range)"},
		{name: "r2", to: &f.r2, accepts: aShare("0.3"), usage: "share of the response's variance that the covariates explain, a `NUMBER` between 0 and 1 (default: 0.3, of a --family 0.1)"},
		{name: "missing", to: &f.missing, value: string(table.MissingError), words: []string{string(table.MissingError), string(table.Midpoint), string(table.Drop)}, usage: "`NAME`: what to do about missing cells: error, midpoint (the middle of the public bounds), or drop the row (needs add-remove neighbours)"},
		{name: "na", to: &f.na, usage: "`TEXT` of a cell that means missing, such as NaN, null, . or -99; repeatable (default: NA; an empty cell always does)"},
		{name: "delim", to: &f.delim, usage: "what separates fields, `TEXT`: comma, semicolon, tab, pipe or a character (default: as the header has it)"},
		{name: "decimal", to: &f.decimal, value: ".", words: []string{".", ","}, usage: "decimal `SIGN`: a point or a comma"},
		{name: "encoding", to: &f.encoding, value: table.Encodings[0], words: table.Encodings, usage: "`NAME` of the encoding of files: " + strings.Join(table.Encodings, ", ")},
		{name: "dialect", to: &f.dialect, words: pushdown.Dialects(), usage: "`NAME` of the engine's SQL: " + strings.Join(pushdown.Dialects(), ", ")},
		{name: "from", to: &f.from, usage: "`URL` of a PostgreSQL database with the rows of --table, postgres://user@host/database; the password is better left to ~/.pgpass or PGPASSWORD. Or duckdb:FILE, or duckdb: alone"},
		{name: "table", to: &f.table, usage: "`NAME` of the table or view of --from, such as people or public.people, exactly as the database has it; to duckdb: alone, what can follow FROM"},
		{name: "table", of: "sql", to: &f.table, usage: "`NAME` of the table or view, up to three parts between dots, exactly as the database has it"},
		{name: "aggregates", to: &f.aggregates, usage: "`FILE` with the result, in JSON, of the query that dpreg sql wrote with the same flags; it is as sensitive as the rows"},
		{name: "rows", to: &f.rows, usage: "about how many rows there are, a public `NUMBER`: with --neighbours add-remove, for --bounds auto or --steps"},
		{name: "rows", of: "vi", to: &f.rows, usage: "about how many rows there are, a public `NUMBER`: with --neighbours add-remove, for --batch"},
		{name: "i-hold-the-data", to: &f.holdsData, usage: "for what is not private: you may see the rows, and the output stays with you"},
	}
}

func (f *flags) ofPrivacy() []declared {
	return []declared{
		{name: "eps", to: &f.epsilon, usage: "privacy budget ε, a `NUMBER` above 0: smaller is more private and noisier"},
		{name: "eps", of: "gaussian laplace", to: &f.account.Epsilon, accepts: isPositive, usage: "privacy budget ε, a `NUMBER` above 0: smaller is more private and noisier"},
		{name: "eps", of: "plan calibrate compare", to: &f.epsilon, usage: "privacy budgets ε, a `LIST` such as 0.1,0.5,1"},
		{name: "eps", of: "vi", to: &f.epsilon, usage: "privacy budget ε of the whole run, a `NUMBER` above 0"},
		{name: "eps", of: "pvi serve", to: &f.epsilon, usage: "privacy budget ε of each client, a `NUMBER` above 0"},
		{name: "eps", of: "init", to: &f.epsilon, usage: "total ε of all releases, a `NUMBER` above 0"},
		{name: "eps", of: "audit", to: &f.epsilon, value: "1", usage: "ε that is claimed, a `NUMBER` above 0"},
		{name: "delta", to: &f.delta, usage: "δ, a `NUMBER` far below 1/n, such as 1e-6: allows Gaussian noise (default: none, pure ε)"},
		{name: "delta", of: "init", to: &f.delta, usage: "total δ, a `NUMBER` far below 1/n (default: none, for Laplace noise only)"},
		{name: "delta", of: "calibrate compare", to: &f.delta, usage: "δ, a `NUMBER` far below 1/n, such as 1e-6 (default: none); noise is Laplace or Gaussian, whichever is smaller"},
		{name: "delta", of: "vi pvi serve", to: &f.delta, usage: "δ, a `NUMBER` far below 1/n, such as 1e-6"},
		{name: "delta", of: "gaussian laplace", to: &f.account.AtDelta, accepts: accountDelta, usage: fmt.Sprintf("δ, a `NUMBER` from %v to below 1", accounting.MinSampledDelta)},
		{name: "sigma", to: &f.account.Sigma, accepts: isPositive, usage: "standard deviation of the noise, a `NUMBER`"},
		{name: "scale", to: &f.account.Scale, accepts: isPositive, usage: "scale b of the noise, a `NUMBER`"},
		{name: "count", to: &f.account.Count, accepts: wholeCount, usage: "`NUMBER` of releases"},
		{name: "steps", of: "release fit plan compare agree", to: &f.looks, value: "auto", usage: fmt.Sprintf("`NUMBER` of looks at the rows, up to %d, for one ε: from the second on noise is in proportion to the rows, and no longer to their bounds; auto: several where rows are enough to be found; 1: the bounds alone", custody.MaxSteps)},
		{name: "split", of: calibrates, to: &f.split, accepts: between(2, release.MaxParts), usage: "deal the rows of a --population to this `NUMBER` of parts, and pool them partially"},
		{name: "split", to: &f.split, accepts: between(2, release.MaxParts), usage: "deal the rows to this `NUMBER` of parts by coins, and release each, for one ε: intervals then hold also where the spread of residuals depends on a column or their mean is not linear (docs/custodians.md); -o and --release name a folder (default: data.parts)"},
		{name: "steps", of: "audit calibrate", to: &f.looks, value: "1", usage: fmt.Sprintf("`NUMBER` of looks at the rows that a release takes, up to %d", custody.MaxSteps)},
		{name: "steps", of: "gaussian", to: &f.account.Steps, accepts: wholeCount, usage: "`NUMBER` of releases"},
		{name: "q", to: &f.account.Q, accepts: samplingRate, usage: "rate of sampling, a `NUMBER` up to 1"},
		{name: "sensitivity", of: "gaussian", to: &f.account.Sensitivity, accepts: isPositive, value: "1", usage: "L2 sensitivity, or what a record may add to a sum, a `NUMBER`"},
		{name: "sensitivity", of: "laplace", to: &f.account.Sensitivity, accepts: isPositive, value: "1", usage: "L1 sensitivity, a `NUMBER`"},
		{name: "sensitivity", to: &f.sensitivity, usage: "what noise is calibrated to, a `LIST` of exact, paper (default exact; presets: both)"},
		{name: "neighbours", to: &f.neighbours, value: string(release.ReplaceOne), words: []string{string(release.ReplaceOne), string(release.AddRemove)}, usage: "`NAME`: which data sets must not be told apart: replace-one, with n public, or add-remove, with n secret"},
		{name: "neighbours", of: "init", to: &f.neighbours, value: string(release.ReplaceOne), words: []string{string(release.ReplaceOne), string(release.AddRemove), string(release.ReplaceOne) + ledger.OfPersons, string(release.AddRemove) + ledger.OfPersons}, usage: "`NAME` of the relation that all releases have: replace-one or add-remove, of rows; with -person behind it of persons (--person)"},
		{name: "neighbours", of: "gaussian", to: &f.neighbours, value: string(release.AddRemove), words: []string{string(release.AddRemove), string(release.ReplaceOne)}, usage: "`RELATION` of data sets, of sampling: add-remove or replace-one"},
		{name: "mechanism", to: &f.mechanism, value: string(ssp.Auto), words: []string{string(release.Laplace), string(release.Gaussian), string(ssp.Auto)}, usage: "`NAME` of the law of the noise: laplace, gaussian (needs --delta), or auto, the smaller one"},
		{name: "by-level", to: &f.byLevel, usage: "`NAME` of a column of categories or truth values, or names with \":\" between them: sums are by its levels, or their cells, which costs the noise of one column however many there are; infer by mcmc-exact; of the response, a truth value, for --family"},
		{name: "per-level", to: &f.perLevel, usage: "products are by the levels of --by-level, too, with about 1.5 times the noise: infer --formula 'y ~ colour * x' then has a slope for each level; of one look (--steps 1)"},
		{name: "with-moments", to: &f.moments, usage: "release moments of the covariates of degree up to 4 as well, for --method gibbs-ss-noisy: at most 3 covariates, and more noise on all"},
		{name: "person", to: &f.person, usage: "the `COLUMN` that says whose a row is: privacy is for persons, who have any number of rows, and the column goes nowhere"},
		{name: "person-rows", to: &f.personRows, usage: "with --person, what becomes of a person's rows, a `RULE`: mean, their mean is one row; weight, each counts one over their number; or K, at most K of them count"},
		{name: "ledger", to: &f.ledger, usage: "charge what is spent to this `FILE` (dpreg ledger init), and refuse what it has no room for (default: data.ledger.db beside data.csv, which is made)"},
		{name: "no-ledger", to: &f.noLedger, usage: "charge no ledger: nobody counts what is spent"},
		{name: "filter", to: &f.filter, value: string(ledger.Auto), words: []string{string(ledger.Auto), string(ledger.Sum)}, usage: "`NAME` of what decides: auto, the sum of (ε, δ) or the count of Gaussian noise; or sum"},
		{name: "session", to: &f.session, usage: "`FILE` that dpreg pool agree wrote"},
		{name: "key", to: &f.memberKey, usage: "your key for the session, a `FILE` that dpreg pool key made"},
		{name: "former", to: &f.former, usage: "the look after those of this `FILE` of dpreg pool, in a frame that these found"},
		{name: "colluding", to: &f.colluding, accepts: between(0, shares.MaxMembers), usage: "`NUMBER` of custodians who may show each other all that they have: privacy holds against them, too"},
		{name: "absent", to: &f.absent, accepts: between(0, shares.MaxMembers), usage: "`NUMBER` of custodians who may drop out at each round (default 0)"},
		{name: "sign", to: &f.signKey, usage: "sign the release with the key in this `FILE` (dpreg keys makes one): FILE.minisig beside it"},
		{name: "verify", to: &f.verify, usage: "refuse a release that is not signed with the public key in this `FILE`, such as hospital.pub; repeatable, of several custodians"},
		{name: "statement", to: &f.statement, usage: "in place of sums, whom the release protects, what it promises, and what composes with other releases: a page for a data protection officer"},
		{name: "pad-time", to: &f.padTime, accepts: isPositive, usage: "write the release when so many `SECONDS` are over, so that how long it took tells nothing, if it took less"},
		{name: "head", to: &f.head, usage: "the head that was printed at a charge, hexadecimal `DIGITS`"},
		{name: "mu", to: &f.mu, accepts: isPositive, usage: "μ of Gaussian differential privacy, a `NUMBER`"},
		{name: "rho", to: &f.rho, accepts: isPositive, usage: "ρ of zero-concentrated differential privacy, a `NUMBER`"},
		{name: "spend-again", to: &f.spendAgain, usage: "overwrite a release that exists: its ε stays spent, and that of the new one adds to it"},
		{name: "non-private", to: &f.nonPrivate, usage: "add no noise and clip nothing: for comparison"},
	}
}

func (f *flags) ofModel() []declared {
	return []declared{
		{name: "preset", to: &f.preset, words: []string{"fig3", "fig4"}, usage: "`NAME` of a study: fig3 or fig4"},
		{name: "model", of: "vi", to: &f.model, value: vi.LogisticKind, words: []string{vi.LinearKind, vi.LogisticKind, vi.HierarchicalKind}, usage: "`NAME`: linear, logistic, or hierarchical: logistic with coefficients for each --group"},
		{name: "model", to: &f.model, value: vi.LogisticKind, words: []string{vi.LinearKind, vi.LogisticKind}, usage: "`NAME`, logistic, or linear with a known --error-sd"},
		{name: "group", to: &f.group, usage: "column of categories, `NAME`, of --model hierarchical"},
		{name: "error-sd", to: &f.errorSD, accepts: isPositive, usage: "of --model linear, standard deviation of the response about its mean, a `NUMBER` in its units"},
		{name: "prior", to: &f.priors, usage: "prior `FILE`, or a line in words such as 'educ ~ normal(4000, 2000)', 'sigma ~ half_t(3, 5000)', in the data's units; repeatable (default: weakly informative)"},
		{name: "prior-sd", to: &f.priorSDs, usage: "prior sd of a coefficient about 0, `NAME=SD`, in the data's units; repeatable"},
		{name: "prior-sd", of: "vi", to: &f.priorSD, value: "2.5", accepts: isPositive, usage: "prior standard deviation of coefficients in scaled units, a `NUMBER`; of linear regression, in residual standard deviations"},
		{name: "prior-sd", of: "pvi serve", to: &f.priorSD, value: "2.5", accepts: isPositive, usage: "prior standard deviation of coefficients in scaled units, a `NUMBER`"},
		{name: "shrink", to: &f.shrink, usage: "all slopes share one free prior sd, in standardised columns: for many columns"},
		{name: "print-prior", to: &f.printPrior, usage: "print the prior in words, in the data's units, and sample nothing"},
		{name: "method", to: &f.method, value: dpreg.DefaultMethod, words: methods(f.cmd), usage: "`NAME` of the method: " + strings.Join(methods(f.cmd), ", ")},
		{name: "method", of: calibrates, to: &f.method, usage: "methods, a `LIST` of " + strings.Join(calibration.MethodNames(), ", ") + " (default: " + strings.Join(calibration.PaperMethods(), ", ") + "; of a population: " + calibration.PopulationMethod + ")"},
		{name: "method", of: compares, to: &f.methods, usage: "`NAME` of a method; repeatable, or a list: " + strings.Join(calibration.ComparedMethods(), ", ") + " (default: " + strings.Join(calibration.DefaultCompared(model.Normal), ", ") + ", of a --family " + strings.Join(calibration.DefaultCompared(model.Binomial), ", ") + "; without --delta those whose noise is Gaussian are left out)"},
		{name: "family", to: &f.family, words: []string{string(model.Binomial), string(model.Probit), string(model.Poisson)}, usage: "`NAME` of the law of a response that is 0 or 1: binomial, of odds (logit), or probit; or that counts: poisson, of rates (log); of sums of one look (--steps 1), or by levels of the response (--by-level) (default: a line with normal residuals)"},
		{name: "kernel", to: &f.kernel, words: []string{string(gibbs.Exact), string(gibbs.Plain)}, usage: "advanced: `NAME` of the kernel of a method gibbs-ss-, exact or plain (as published; for studies)"},
		{name: "kernel", of: calibrates, to: &f.kernel, usage: "kernels of the methods gibbs-ss-, a `LIST` of exact, plain (default exact; presets: both)"},
		{name: "model-clamping", to: &f.clamping, usage: "let the rows be unbounded, and the sums be those of the clamped rows (" + individual.Method{}.Name() + ")"},
		{name: "covariates", to: &f.covariates, value: dpreg.SeparateCovariates, words: []string{dpreg.SeparateCovariates, dpreg.SharedCovariates}, usage: "of several releases, `NAME`: separate, each has a law of the covariates of its own, or shared"},
		{name: "pooling", to: &f.pooling, value: dpreg.CompletePooling, words: []string{dpreg.CompletePooling, dpreg.PartialPooling}, usage: "of several releases, `NAME`: complete, one regression, or partial, coefficients and sigma of each about common ones"},
		{name: "same-rows", to: &f.sameRows, usage: "all releases are of the same rows, and measure the same sums"},
		{name: "custodian", to: &f.custodian, usage: "with --pooling partial, predict for the custodian of this `NAME`, its release's (default: a new one; of parts, all)"},
		{name: "along", to: &f.along, usage: "in place of NEW.csv: predict along this column, `NAME`, between its bounds, with the others at their means; --plot FILE draws it"},
		{name: "mean", to: &f.line, usage: "the regression line and its interval, in place of a new response"},
		{name: "what-if", to: &f.whatIf, usage: "repeat the fit with other priors (scales a third and three times as large) and another model of the covariates, and say whether the conclusions move"},
	}
}

func (f *flags) ofSampling() []declared {
	return []declared{
		{name: "ess", to: &f.ess, value: fmt.Sprint(dpreg.DefaultPlan().ESS), accepts: isPositive, usage: "sample until the effective sample size of every parameter is this `NUMBER`"},
		{name: "ess", of: calibrates, to: &f.ess, usage: fmt.Sprintf("sample until the effective sample size of every parameter is this `NUMBER` (default %d)", calibration.DefaultESS)},
		{name: "draws", to: &f.draws, accepts: between(1, maxDraws), usage: "`NUMBER` of draws kept of each chain (default: as many as --ess needs)"},
		{name: "draws", of: "vi pvi serve join", to: &f.draws, value: "1000", accepts: between(1, maxDraws), usage: "`NUMBER` of draws of each of four chains from the fitted law"},
		{name: "draws", of: calibrates, to: &f.draws, accepts: between(1, maxDraws), usage: "`NUMBER` of draws kept of each chain (default: as many as --ess needs; of a population: 500; kernel plain: 2000)"},
		{name: "chains", to: &f.chains, value: fmt.Sprint(dpreg.DefaultPlan().Chains), accepts: between(1, maxChains), usage: "`NUMBER` of chains"},
		{name: "chains", of: calibrates, to: &f.chains, accepts: between(1, maxChains), usage: "`NUMBER` of chains (default 2; of a population: 4; kernel plain: 1)"},
		{name: "warmup", to: &f.warmup, value: fmt.Sprint(dpreg.DefaultPlan().Warmup), accepts: between(1, maxDraws), usage: "`NUMBER` of warm-up iterations of each chain"},
		{name: "warmup", of: calibrates, to: &f.warmup, accepts: between(0, maxDraws), usage: "`NUMBER` of warm-up iterations of each chain (default 1000; kernel plain: 5000)"},
		{name: "calibrate", to: &f.calibrate, value: fmt.Sprint(defaultRefits), accepts: between(0, maxRefits), usage: "`NUMBER` of refits that calibrate the p-values; 0: none (and none unasked where there are many sums)"},
		{name: "rounds", to: &f.rounds, value: "20", accepts: between(1, 1e6), usage: "`NUMBER` of rounds, in each of which every client updates its factor once"},
		{name: "steps", to: &f.iterations, value: "2000", accepts: between(1, accounting.MaxCount), usage: "`NUMBER` of steps"},
		{name: "steps", of: "pvi serve", to: &f.iterations, value: "25", accepts: between(1, 1e6), usage: "`NUMBER` of steps in an update"},
		{name: "rate", to: &f.batchRate, value: "0.02", accepts: upToOne, usage: "share of the rows in a batch, a `NUMBER` up to 1"},
		{name: "rate", of: "pvi serve", to: &f.batchRate, value: "0.05", accepts: upToOne, usage: "share of a client's rows in a batch, a `NUMBER` up to 1"},
		{name: "batch", to: &f.batch, accepts: between(1, 1e9), usage: "in place of --rate: `NUMBER` of rows that a batch has on average"},
		{name: "damping", to: &f.damping, value: "0.25", accepts: upToOne, usage: "share of the way that a factor moves in an update, a `NUMBER` up to 1"},
		{name: "clip", to: &f.clip, accepts: isPositive, usage: "largest norm of a row's gradient, a `NUMBER`; longer ones are shortened to it (default: the length of the longest row that bounds allow, which clips nothing; of linear regression three times it)"},
		{name: "clip", of: "pvi serve", to: &f.clip, accepts: isPositive, usage: "largest norm of a row's gradient, a `NUMBER`; longer ones are shortened to it (default: the length of the longest row that bounds allow; of linear regression three times it, over --error-sd)"},
		{name: "learning-rate", to: &f.learningRate, value: "0.05", accepts: isPositive, usage: "size of Adam's steps, a `NUMBER`"},
		{name: "learning-rate", of: "pvi serve", to: &f.learningRate, value: "0.2", accepts: isPositive, usage: "size of Adagrad's steps, a `NUMBER`"},
		{name: "releases", of: "plan", to: &f.simulated, value: fmt.Sprint(plan.DefaultReleases), accepts: between(1, maxReleases), usage: "`NUMBER` of simulated releases at each point: four times as many halve the Monte Carlo error"},
		{name: "m", to: &f.audited, value: "2", usage: "numbers of columns, the response among them, a `LIST` such as 2,3,4"},
		{name: "releases", to: &f.releases, value: "1e5", usage: "`NUMBER` of releases of each of the two data sets"},
		{name: "trials", of: calibrates, to: &f.trials, usage: fmt.Sprintf("`NUMBER` of trials of each cell (default %d; fig3: 300, fig4: 100)", ownTrials)},
		{name: "trials", to: &f.trials, value: "20", usage: "`NUMBER` of trials"},
		{name: "jobs", to: &f.jobs, accepts: between(0, maxDraws), usage: "`NUMBER` of trials to work on at once (default: the number of cores)"},
		{name: "seed", to: &f.seed, usage: "seed of the simulation, its noise included, a `NUMBER`"},
		{name: "seed", of: "infer fit check predict ask models", to: &f.seed, value: fmt.Sprint(dpreg.DefaultPlan().Seed), usage: "seed of the chains, a `NUMBER`; noise of a release cannot be seeded"},
		{name: "seed", of: "vi pvi serve join", to: &f.seed, value: "1", usage: "seed of what is public, a `NUMBER`; batches and noise cannot be seeded"},
		{name: "no-grid", to: &f.noGrid, usage: "add no values to a single ε or n"},
		{name: "shard", to: &f.shard, usage: "run part `I/K` of the trials only, with --save"},
	}
}

func (f *flags) ofOutput() []declared {
	return []declared{
		{name: "release", to: &f.release, aFile: true, usage: "write the release to this `FILE`, or use the one there (default: data.release.json beside data.csv)"},
		{name: "output", short: "o", of: "release", to: &f.output, aFile: true, usage: "write the release to this `FILE` (default: data.release.json beside data.csv)"},
		{name: "output", short: "o", of: "schema", to: &f.output, aFile: true, usage: "write to this `FILE`, which must not exist yet, instead of stdout"},
		{name: "output", short: "o", of: "pool", to: &f.output, aFile: true, usage: "write the release to this `FILE`, which must not exist yet (default: pooled.release.json)"},
		{name: "output", short: "o", of: "agree share mask", to: &f.output, aFile: true, usage: "write to this `FILE`, which must not exist yet (default: pool.session; NAME.shares, NAME.masked after the key's name)"},
		{name: "output", short: "o", to: &f.output, aFile: true, usage: "write to this `FILE`, all or nothing (default: stdout)"},
		{name: "format", to: &f.format, value: "table", words: []string{"table", "json", "csv"}, usage: "`NAME` of the format on stdout: table, json or csv"},
		{name: "format", of: "infer fit ask models", to: &f.format, value: "table", words: append([]string{"table", "json", "csv"}, report.TableFormats...), usage: "`NAME` of the format on stdout: table, json, csv, or of a table for another document: markdown, latex (with booktabs), html"},
		{name: "format", of: "gaussian laplace audit", to: &f.format, value: "table", words: []string{"table", "json"}, usage: "`NAME` of the format on stdout: table or json"},
		{name: "level", to: &f.level, value: "0.95", accepts: aShare("0.95"), usage: "probability of the intervals, a `NUMBER` between 0 and 1"},
		{name: "digits", to: &f.digits, value: "3", accepts: between(1, 15), usage: "`NUMBER` of digits of standard errors in tables"},
		{name: "positive", to: &f.sign, usage: "add P(>0), the posterior probability that a parameter is above 0"},
		{name: "quiet", to: &f.quiet, usage: "the table and warnings alone: no promise, no explanations, no notes and bars on stderr"},
		{name: "units", to: &f.units, value: string(dpreg.Original), words: []string{string(dpreg.Original), string(dpreg.Scaled)}, usage: "`NAME`: original, the data's units, or scaled, with bounds at -1 and 1"},
		{name: "save", to: &f.save, usage: "write the draws (Stan CSV, a file a chain), the release and summary.json to this `DIR`"},
		{name: "save", of: "vi pvi serve join", to: &f.save, usage: "write the draws (Stan CSV, a file a chain) and summary.json to this `DIR`"},
		{name: "save", short: "o", of: "calibrate compare merge", to: &f.save, usage: "keep the study in this `DIR`, so that it can go on, and write its results there"},
		{name: "names", to: &f.heads, value: "stan", words: []string{"stan", "labels"}, usage: "with --save, `NAME` of what heads columns of draws: stan (theta.2) or labels (educ)"},
		{name: "parquet", to: &f.parquet, usage: "with --save, write all draws as one table, draws.parquet, too"},
		{name: "report", to: &f.page, usage: "write the result with its plots as a page to this `FILE`, .html, that needs no other file and no network"},
		{name: "plot", of: "vi", to: &f.plot, usage: "draw the centre of the fitted law over the steps, in --units, into this `FILE`, .svg or .png"},
		{name: "plot", to: &f.plot, usage: "draw the result into this `FILE`, .svg or .png"},
		{name: "plots", to: &f.plots, usage: "draw posterior against prior, traces, ranks and pairs into this `DIR`, as SVG and as PNG"},
		{name: "port", to: &f.port, accepts: between(0, 65535), usage: "`NUMBER` of the port of the page on this machine (default: one that is free)"},
		{name: "plots", of: calibrates + " merge", to: &f.pictures, usage: "draw pictures, SVG and PNG, to DIR/plots"},
	}
}

func (f *flags) ofNetwork() []declared {
	return []declared{
		{name: "listen", to: &f.listen, value: ":8443", usage: "`ADDRESS` to serve at, [HOST]:PORT"},
		{name: "server", to: &f.server, usage: "`URL` of the server, https://HOST:PORT"},
		{name: "cert", to: &f.identity.Cert, usage: "your certificate, a `FILE` in PEM: a client's common name is the name that the session knows it by"},
		{name: "key", of: "serve join", to: &f.identity.Key, usage: "the key of --cert, a `FILE` in PEM"},
		{name: "ca", to: &f.identity.CA, usage: "the certificate of the authority that signed those of the others, a `FILE` in PEM"},
		{name: "agree", to: &f.agree, usage: "agree to the session of this `DIGEST`: spend what it says (default: show the session, and spend nothing)"},
		{name: "session", of: "serve join", to: &f.session, usage: "keep in this `DIR` what is sent, so that the run can go on (default: pvi.session; of join: data.pvi-DIGEST beside data.csv)"},
		{name: "wait", to: &f.wait, value: "600", accepts: isPositive, usage: "`SECONDS` after which a round passes without a client that does not answer, while others are there"},
	}
}
