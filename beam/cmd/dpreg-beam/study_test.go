//go:build unix

package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/beam/trials"
	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

var trialsEach = flag.Int("trials", 6, "trials of each cell")

// calibrated is a small study, as dpreg calibrate writes it down.
func calibrated(t *testing.T, trialsEach int) trials.Study {
	t.Helper()
	d := calibration.Fig3()
	d.Ns, d.Epsilons, d.Trials = []int64{30, 60}, []float64{1}, trialsEach
	d.Arms = calibration.Arms([]string{"naive", "non-private", "mcmc-exact"}, nil, []string{calibration.ExactSensitivity})
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return trials.Study{Text: d.Text()}
}

// compared is a small comparison.
func compared(t *testing.T) trials.Study {
	t.Helper()
	d := &calibration.Design{
		Format: calibration.ComparisonFormat, Ns: []int64{50}, Ps: []int{1}, Epsilons: []float64{1}, Delta: 1e-6, Data: calibration.Unclamped, X: calibration.NormalX,
		Prior: calibration.PriorSpec{Name: calibration.BoxPrior}, Arms: calibration.ComparisonArms([]string{"naive", calibration.AdaSSP}), Clients: 2, Trials: 3, Seed: 4,
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return trials.Study{Text: d.Text()}
}

// populated is a small study of the rows of a table.
func populated(t *testing.T) trials.Study {
	t.Helper()
	path, err := filepath.Abs("../../../testdata/cirrhosis.csv")
	if err != nil {
		t.Fatal(err)
	}
	source, err := table.Find(path)
	if err != nil {
		t.Fatal(err)
	}
	columns := schema.Design{Intercept: true, Response: schema.Column{Name: "cirrhosis", Lower: 0, Upper: 200}, Covariates: []schema.Column{{Name: "wine", Lower: 0, Upper: 40}}}
	rows, err := calibration.ReadRows(table.Options{}.Rows(source, &columns), 2)
	if err != nil {
		t.Fatal(err)
	}
	d := &calibration.Design{
		Format: calibration.DesignFormat, Data: calibration.Resampled, Ns: []int64{50}, Epsilons: []float64{1}, Trials: 3,
		Prior:      calibration.PriorSpec{Name: calibration.BoxPrior},
		Population: &calibration.Table{Name: "cirrhosis.csv", Columns: columns, Rows: rows.Len(), Digest: rows.Digest()},
		Arms:       calibration.PopulationArms([]string{calibration.PopulationMethod}, nil, []string{calibration.ExactSensitivity}),
	}
	return trials.Study{Text: d.Text(), Data: path}
}

// Results are those of a run without an engine, to the last byte.
func TestStudies(t *testing.T) {
	all := engines(t)
	for name, s := range map[string]trials.Study{"calibrate": calibrated(t, *trialsEach), "compare": compared(t), "population": populated(t)} {
		alone, study := runAlone(t, s)
		for _, e := range all {
			t.Run(e.name+", "+name, func(t *testing.T) {
				_, j, dir := e.start(t)
				path := filepath.Join(t.TempDir(), "journal")
				journal, recorded, err := calibration.OpenJournal(path, study, calibration.Shard{})
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range alone[:2] { // as a run that was stopped leaves it
					recorded.Trials = append(recorded.Trials, k)
					if err := journal.Keep(k); err != nil {
						t.Fatal(err)
					}
				}
				if err := trials.Run(t.Context(), j, dir, s, recorded.Trials, journal.Keep); err != nil {
					t.Fatal(err)
				}
				if err := journal.Close(); err != nil {
					t.Fatal(err)
				}
				sameStudy(t, study, path, alone)
			})
		}
	}
}

// runAlone runs a study without an engine.
func runAlone(t *testing.T, s trials.Study) ([]*calibration.Trial, *calibration.Study) {
	t.Helper()
	study, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	alone, err := study.Run(t.Context(), calibration.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return alone, study
}

// sameStudy compares all that is written of a study, times aside.
func sameStudy(t *testing.T, study *calibration.Study, journal string, alone []*calibration.Trial) {
	t.Helper()
	recorded, err := calibration.ReadJournal(journal, study)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := calibration.Merge(study, []*calibration.Recorded{recorded})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(results(t, study, merged), results(t, study, alone)) {
		t.Error("other results")
	}
}

func results(t *testing.T, study *calibration.Study, all []*calibration.Trial) []byte {
	t.Helper()
	summary := study.Results(all)
	writers := []func(io.Writer) error{
		func(w io.Writer) error { return study.WriteTrials(w, all) }, summary.WriteCSV, summary.WriteJSON,
	}
	var out bytes.Buffer
	for _, write := range writers {
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// Trials that a worker had not written when it was killed are run again, and none is kept
// twice.
func TestStudyKilledWorker(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds workers in /proc")
	}
	s := calibrated(t, max(20, *trialsEach))
	alone, study := runAlone(t, s)
	e := engines(t)[2]
	_, j, dir := e.start(t)
	killed := e.killWorker(t)
	var kept []*calibration.Trial
	err := trials.Run(t.Context(), j, dir, s, nil, func(k *calibration.Trial) error {
		kept = append(kept, k)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-killed:
	default:
		t.Error("the job was done before a worker could be killed")
	}
	if len(kept) != len(alone) {
		t.Fatalf("%d trials of %d were kept", len(kept), len(alone))
	}
	slices.SortFunc(kept, func(a, b *calibration.Trial) int {
		if a.Cell != b.Cell {
			return a.Cell - b.Cell
		}
		return a.Trial - b.Trial
	})
	if !bytes.Equal(results(t, study, kept), results(t, study, alone)) {
		t.Error("other results")
	}
}

// The commands: dpreg's begins a study, this one runs it, and again has nothing to do.
func TestStudyCommand(t *testing.T) {
	s := compared(t)
	folder := t.TempDir()
	study, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "study.json"), study.Description, 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, folder, "compare", "--save", ".").ends(t, custody.Done, "all trials are finished")
	program(t, folder, "compare", "--save", ".").ends(t, custody.Done, "going on after 6 finished trials")
	program(t, folder, "compare", "--save", ".", "rows.csv").ends(t, custody.Refused, "--i-hold-the-data")
	program(t, folder, "calibrate", "--save", ".").ends(t, custody.Misused, "study")
	program(t, folder, "calibrate", "--save", "nothing").ends(t, custody.Misused, "--prepare")
}
