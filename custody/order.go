// Package custody is where ε is spent: it takes an order for a release, reads the rows,
// charges a ledger, draws the noise and writes the file, in this sequence. Nothing else
// draws noise of the operating system on the sums of rows.
//
// Messages call a field of an Order by the flag of dpreg that sets it. They hold nothing
// of a row but where it is; what may be told of rows is in docs/threat-model.md.
package custody

import (
	"errors"
	"fmt"
	"time"

	"github.com/dpreg/dpreg/adaptive"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/signature"
	"github.com/dpreg/dpreg/ssp"
	"github.com/dpreg/dpreg/table"
)

// Order is a release that is asked for: Rows, Design and Privacy, and whatever else is not
// to have its default.
type Order struct {
	Rows    Source
	Cells   table.Options   // how cells are read
	Design  *schema.Design  // columns with their public bounds, and the formula
	Privacy release.Privacy // promise of the whole release

	Mechanism   release.Kind // law of the noise on the sums; default: ssp.Auto
	WithMoments bool         // of the covariates, too
	ByLevel     string       // a factor by whose levels sums are, a covariate or a truth value that responds; default: none
	PerLevel    bool         // products are by the levels of ByLevel, too, and those of its dummies and other covariates follow
	Persons     Persons      // whose rows these are; default: each is a person's
	Bounds      Bounds       // that are found in the rows; default: none
	Steps       int          // looks at the rows, each in a frame that those before it found; 1 is in the box; default: AutoSteps, as many as adaptive.Auto says, 1 of rows that can be read once
	StatedRows  int64        // how many there are, about, from public knowledge: for add-remove neighbours
	Split       int          // parts that rows are dealt to, of each of which there is a release, see PublishParts; default: there is one of all

	Path       string // of the file, or of the folder of parts; empty: none is written
	SpendAgain bool   // a release that is there may be overwritten
	Ledger     string // file that is charged
	MakeLedger bool   // if there is none, it is made, without a total
	NoLedger   bool   // none is charged; of noise of the operating system this must be said

	Sign *signature.Key // that signs the file; nil: none does

	// PadTime is when the file is written, after Publish began, if all is ready by then: else how long
	// it took would tell of the rows and the noise.
	PadTime time.Duration

	// Check, if not nil, may refuse, once the rows are read and before anything is spent.
	// rows is their number where it is public; else the one stated, or 0.
	Check func(rows int64) error
	// Say, if not nil, is told what a custodian should know, a message a call.
	Say func(text string)
	// Noise draws from Entropy. Default: the operating system. Simulated noise is for
	// studies, and a release says that it has it.
	Entropy *mechanisms.Entropy
}

// Settled is an order of which nothing is open any more: the dry run of Publish. Mechanism
// is a law, and Privacy.Delta is 0 where that needs none; of several steps the number of rows
// may change both, before anything is spent.
type Settled struct {
	Order
	Noise release.Noise  // on the statistics, as the release will state it; of several steps, if the first frame were the last
	Frame *release.Frame // of the first of several steps, or of the look of a session; nil: the box, and there is one

	dummies  int             // columns of ByLevel, which are the first of Design
	crossed  *schema.Design  // with PerLevel: Design, and the columns that follow
	responds bool            // ByLevel is the response of the release
	answers  *schema.Design  // of sums by the levels of several factors that of the model asked for; else nil
	bounds   *release.Bounds // that are to be found; nil: all are public
	asked    Order           // as it was
	rows     int64           // their number once that is known, if it is public; else the one stated, or 0
	auto     bool            // Steps are open until the number of rows is known
	budget   ssp.Budget      // of several steps
	plan     adaptive.Plan   // and its shares, once the number of rows is known
	people   *people         // of one release; nil: each row is one
	session  *Session        // that this is a share of; nil: none
	passes   *passes         // over the rows of files, of one release
	marks    *table.Marks    // of these rows; nil: nobody asks
}

// Settle checks all that can be checked before a row is read or a ledger opened, and
// chooses what the order leaves open. It spends nothing. What it refuses is an *Error.
func Settle(o Order) (*Settled, error) {
	s := &Settled{Order: o, asked: o, rows: o.StatedRows / int64(max(1, o.Split))}
	for _, settle := range []func() error{s.checkPlaces, s.checkCells, s.settlePersons, s.settleLevels, s.settleSplit, s.settleSteps, s.settleBounds, s.checkMoments, s.settleNoise, s.sayMoments} {
		if err := settle(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (o *Order) sayf(format string, args ...any) {
	if o.Say != nil {
		o.Say(fmt.Sprintf(format, args...))
	}
}

func (s *Settled) checkPlaces() error {
	switch {
	case s.Rows == nil || s.Design == nil:
		return Misuse(errors.New("an order needs rows and a design"))
	case s.NoLedger && s.Ledger != "":
		return Misusef("--no-ledger and --ledger exclude each other")
	case s.Ledger == "":
	case s.Path == "":
		return Misuse(errors.New("--ledger names what is charged by the release's file: give a path"))
	case files.Same(s.Path, s.Ledger):
		return Misusef("--ledger: %s would be overwritten: this run reads or makes it; choose another name or directory", s.Ledger)
	}
	return Misuse(s.Design.Validate())
}

func (s *Settled) checkCells() (err error) {
	s.Cells.ByLevels = s.ByLevel != ""
	s.Cells, err = Cells(s.Cells, s.Privacy.Neighbours)
	return err
}

// Cells are options for what is to be private. It refuses to leave rows out where their number
// is public. To add-remove neighbours a table without rows is one like any other.
func Cells(o table.Options, nb release.Neighbours) (table.Options, error) {
	o.Empty = nb == release.AddRemove
	midpoint := ", or --missing midpoint"
	if o.ByLevels {
		midpoint = ""
	}
	switch {
	case o.Missing != "" && o.Missing != table.MissingError && o.Missing != table.Midpoint && o.Missing != table.Drop:
		return o, Misusef("--missing %q: error, midpoint or drop", o.Missing)
	case o.BadCell != "" && o.BadCell != table.BadError && o.BadCell != table.BadMissing:
		return o, Misusef("--on-bad-cell %q: error or missing", o.BadCell)
	case o.BadCell == table.BadMissing && (o.Missing == "" || o.Missing == table.MissingError):
		return o, Misusef("--on-bad-cell missing takes a bad cell for a missing one: say what becomes of these, by --missing drop%s", midpoint)
	case o.Missing == table.Drop && !o.Empty:
		return o, Refusef("--missing drop: leaving rows out changes their number, which %s neighbours take to be public and the release states. "+
			"Use --neighbours %s, which adds noise to the number%s", release.ReplaceOne, release.AddRemove, midpoint)
	}
	return o, nil
}

// left is the privacy of the sums of rows: what private bounds, and what is told of persons, leave.
func (s *Settled) left() release.Privacy {
	left := s.Privacy
	if s.bounds != nil {
		left = ssp.AfterBounds(left, s.bounds.Epsilon)
	}
	if more := s.moreEpsilon(); more > 0 {
		left = ssp.AfterBounds(left, more)
	}
	rows, err := ofRows(left, s.Persons.Rule.PerPerson())
	if err != nil {
		return release.Privacy{Neighbours: left.Neighbours} // which all refuse
	}
	return rows
}

func (s *Settled) checkMoments() error {
	switch p := len(s.Design.Covariates); {
	case !s.WithMoments:
		return nil
	case p < 1 || p > release.MaxMomentCovariates:
		return Misusef("--with-moments is for 1 to %d covariates, and there are %d: choose among them with --formula", release.MaxMomentCovariates, p)
	}
	_, err := s.files("--with-moments")
	return err
}

// sayMoments says how the noise is shared between the statistics and the moments.
func (s *Settled) sayMoments() error {
	if !s.WithMoments {
		return nil
	}
	p := len(s.Design.Covariates)
	c, err := ssp.CalibrateAll(p+1, true, s.left(), s.Mechanism, ssp.Exact)
	if err != nil {
		return Misuse(err)
	}
	without, err := ssp.Calibrate(p+1, s.left(), s.Mechanism, ssp.Exact)
	if err != nil {
		return Misuse(err)
	}
	least, how := 1, "of degree 1 to 4 with half of ε, and the statistics with the other half, which leaves these less noise than one vector would"
	if c.Together {
		least, how = 3, "of degree 3 and 4, as one vector with the statistics"
	}
	s.sayf("--with-moments: %d moments %s; the statistics get noise of scale %.4g, against %.4g without moments",
		len(release.MomentExponents(p, least)), how, c.Statistics.Scale, without.Scale)
	return nil
}

// checkNoise refuses a law that does not go with δ and the sensitivity.
func (s *Settled) checkNoise() error {
	switch s.Mechanism {
	case "":
		s.Mechanism = ssp.Auto
	case s.pure(), release.Gaussian, ssp.Auto:
	case release.Laplace:
		return Misusef("--mechanism laplace is for --steps 1: with %d steps noise is that of a ball, or Gaussian with --delta; leave --mechanism out", s.Steps)
	default:
		return Misusef("--mechanism %q: laplace, gaussian or auto", s.Mechanism)
	}
	if s.Mechanism == release.Gaussian && s.Privacy.Delta == 0 {
		return Misusef("--mechanism gaussian needs a δ above 0, far below 1/n, as in --delta 1e-6")
	}
	return nil
}

// pure is the law of the noise where there is no δ.
func (s *Settled) pure() release.Kind { return pureOf(s.Steps) }

func pureOf(steps int) release.Kind {
	if steps > 1 {
		return release.Ball
	}
	return release.Laplace
}

// settleNoise decides what auto is, compares the noise with what it could be, where there
// is a δ, and calibrates it.
func (s *Settled) settleNoise() (err error) {
	if err := s.checkNoise(); err != nil {
		return err
	}
	if s.Privacy.Delta == 0 {
		s.Mechanism = s.pure()
	} else if err := s.chooseNoise(); err != nil {
		return err
	}
	s.Frame = nil
	if s.Steps > 1 {
		if s.budget, err = ssp.NewBudget(s.left()); err != nil {
			return Misuse(err)
		}
		s.Frame = ssp.RoundFrame(adaptive.First(s.inFrame()))
	}
	s.Noise, err = s.calibrate()
	return Misuse(err)
}

func (s *Settled) chooseNoise() error {
	better, factor, err := s.better()
	if err != nil {
		return Misuse(err)
	}
	// times says how much smaller, in parentheses.
	times := fmt.Sprintf(" (sd by a factor of %.3g)", factor)
	if s.Steps > 1 {
		times = fmt.Sprintf(" (by a factor of %.3g over all looks)", factor)
	}
	pure := map[release.Kind]string{release.Laplace: "Laplace", release.Ball: "ball"}[s.pure()]
	switch {
	case s.Mechanism == s.pure():
		var hint string
		if better == release.Gaussian {
			hint = "; or say --mechanism gaussian, whose noise is smaller here" + times
		}
		return Misusef("--delta %v with --mechanism %s: %s noise needs no δ, so leave --delta out%s", s.Privacy.Delta, s.Mechanism, pure, hint)
	case s.waits() && s.rows == 0: // it is said when they are counted
	case s.Mechanism == release.Gaussian && better != release.Gaussian:
		s.sayf("%s noise would be smaller here%s, and needs no δ: leave --mechanism and --delta out", pure, times)
	case s.Mechanism == ssp.Auto && better != release.Gaussian:
		s.sayf("--mechanism auto: %s noise, which is smaller than Gaussian noise here%s and needs no δ: the release has δ = 0", pure, times)
	case s.Mechanism == ssp.Auto:
		s.sayf("--mechanism auto: Gaussian noise, which is smaller than %s noise here%s", pure, times)
	}
	if s.Mechanism == ssp.Auto {
		s.Mechanism = better
	}
	if s.Mechanism != release.Gaussian {
		s.Privacy.Delta = 0
	}
	return nil
}

// better compares Gaussian noise with that which needs no δ.
func (s *Settled) better() (release.Kind, float64, error) {
	if s.Steps > 1 {
		return s.betterInSteps()
	}
	return ssp.Smaller(s.left(), s.inOneLook)
}

// calibrate is the noise on the statistics.
func (s *Settled) calibrate() (release.Noise, error) {
	if s.Steps > 1 {
		return s.inLastLook(s.left())
	}
	return s.inOneLook(s.left(), s.Mechanism)
}

// inOneLook is the noise on the statistics of one look in the box.
func (s *Settled) inOneLook(p release.Privacy, kind release.Kind) (release.Noise, error) {
	if s.ByLevel != "" {
		known := !s.PerLevel && s.Design.Response.Binary()
		return ssp.CalibrateLevels(release.Leveled{M: s.dim(), Dummies: s.dummies, PerLevel: s.PerLevel, Known: known}, p, kind)
	}
	c, err := ssp.CalibrateAll(len(s.Design.Columns()), s.WithMoments, p, kind, ssp.Exact)
	return c.Statistics, err
}

// NoiseAt is the noise on the statistics of another design and with another ε, all else
// being as it is ordered.
func (s *Settled) NoiseAt(d *schema.Design, epsilon float64) (release.Noise, error) {
	other := *s
	other.Design, other.Privacy.Epsilon = d, epsilon
	return other.calibrate()
}

// sayDelta says of a δ that it is too large for n rows to mean much.
func (s *Settled) sayDelta(n int64) {
	if delta := s.Privacy.Delta; delta*float64(n) >= 1 {
		s.sayf("warning: δ = %v is not below 1/n = %.2g: publishing one row at random, as it is, has no larger δ. Take one far below", delta, 1/float64(n))
	}
}

// Describe says a privacy in a few words.
func Describe(p release.Privacy) string {
	if p.Delta > 0 {
		return fmt.Sprintf("ε = %v, δ = %v (%s)", p.Epsilon, p.Delta, p.Neighbours)
	}
	return fmt.Sprintf("ε = %v (%s)", p.Epsilon, p.Neighbours)
}
