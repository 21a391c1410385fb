package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dpreg/dpreg/calibration"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/table"
)

// parseShard parses --shard, which needs --save.
func parseShard(text, save string) (s calibration.Shard, err error) {
	if text == "" {
		return s, nil
	}
	if save == "" {
		return s, usagef("--shard keeps its part in the directory of --save: give --save DIR")
	}
	var rest string
	if n, _ := fmt.Sscanf(text+" .", "%d/%d %s", &s.Index, &s.Count, &rest); n != 3 || rest != "." || s.Index < 1 || s.Index > s.Count {
		return s, usagef("--shard %q: a part and a number of parts, such as 2/5", text)
	}
	return s, nil
}

// finishStudy runs a command's study to its end, or a shard of it, in the directory of
// --save where there is one, and says how it goes on.
func finishStudy(ctx context.Context, stderr io.Writer, command, dir string, mode fs.FileMode, study *calibration.Study, o calibration.Options) ([]*calibration.Trial, error) {
	if dir == "" {
		return runStudy(ctx, stderr, study, o)
	}
	folder, err := openStudy(command, dir, mode, study, o.Shard)
	if err != nil {
		return nil, err
	}
	folder.say(stderr)
	o.Done, o.Keep = folder.recorded.Trials, folder.journal.Keep
	trials, err := runStudy(ctx, stderr, study, o)
	if closed := folder.journal.Close(); err == nil {
		err = closed
	}
	switch {
	case errors.Is(err, context.Canceled):
		note(stderr, "finished trials are kept in %s: the same command goes on", dir)
	case err == nil && o.Shard.Count > 1:
		note(stderr, "shard %v is finished; put the shards together by `dpreg %s merge --save DIR %s ...`", o.Shard, command, shellWord(dir))
	}
	return trials, err
}

// prepareStudy makes the directory of a command's study, for dpreg-beam to run the trials.
func prepareStudy(stderr io.Writer, command, dir string, mode fs.FileMode, study *calibration.Study) error {
	if dir == "" {
		return usagef("--prepare makes the directory of --save: give --save DIR")
	}
	folder, err := openStudy(command, dir, mode, study, calibration.Shard{})
	if err != nil {
		return err
	}
	note(stderr, "the study is in %s: dpreg-beam %s runs its trials, dpreg %s --save tells the results", dir, command, command)
	return folder.journal.Close()
}

// modeOf is that of files with results: those of real rows are their holder's.
func modeOf(real bool) fs.FileMode {
	if real {
		return private
	}
	return public
}

// errNoBounds refuses to look for bounds in a study's rows.
var errNoBounds = usagef("--bounds auto is for a release; a study needs public bounds of every column (dpreg schema)")

// readAll keeps all rows of a study's table, which must not change meanwhile.
func readAll(stderr io.Writer, source *table.Source, design *schema.Design, cells table.Options) (rows *calibration.Rows, err error) {
	noteMissing(stderr, cells)
	err = filesOf(stderr, source).Read(sayTo(stderr), func() error {
		rows, err = calibration.ReadRows(cells.Rows(source, design), len(design.Covariates)+1)
		return err
	})
	return rows, err
}

// tableOf is how a study names the rows that readAll read.
func tableOf(data string, design *schema.Design, cells table.Options, rows *calibration.Rows) calibration.Table {
	return calibration.Table{Name: filepath.Base(data), Columns: *design, Missing: cells.Missing, NA: cells.NA, Rows: rows.Len(), Digest: rows.Digest()}
}

// runStudy runs the trials that are not done, and shows how far it is.
func runStudy(ctx context.Context, stderr io.Writer, study *calibration.Study, o calibration.Options) ([]*calibration.Trial, error) {
	p := newStudyProgress(stderr, len(o.Done))
	o.Progress = p.update
	defer p.finish()
	return study.Run(ctx, o)
}

// keepMerged writes the journal of a study whose shards were put together to a directory.
func keepMerged(command, dir string, mode fs.FileMode, study *calibration.Study, trials []*calibration.Trial) error {
	folder, err := openStudy(command, dir, mode, study, calibration.Shard{})
	if err != nil {
		return err
	}
	if len(folder.recorded.Trials) > 0 {
		return errors.Join(usagef("--save %s: there are trials already: choose another directory", dir), folder.journal.Close())
	}
	for _, t := range trials {
		if err := folder.journal.Keep(t); err != nil {
			return errors.Join(err, folder.journal.Close())
		}
	}
	return folder.journal.Close()
}

// mergeShards puts the shards of a study together, each of which was run in a directory of
// its own.
func mergeShards(dirs []string, study *calibration.Study) ([]*calibration.Trial, error) {
	var parts []*calibration.Recorded
	for _, dir := range dirs {
		design, err := os.ReadFile(designOf(dir))
		if err != nil {
			return nil, usage(err)
		}
		if !bytes.Equal(design, study.Description) {
			return nil, usagef("%s is of another study than the first shard", designOf(dir))
		}
		part, err := calibration.ReadJournal(journalOf(dir), study)
		if err != nil {
			return nil, usage(err)
		}
		parts = append(parts, part)
	}
	trials, err := calibration.Merge(study, parts)
	return trials, usage(err)
}
