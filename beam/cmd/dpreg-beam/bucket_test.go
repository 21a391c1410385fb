//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"

	"github.com/dpreg/dpreg/beam/job"
	"github.com/dpreg/dpreg/beam/sums"
	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/table"
)

// Rows and results may be where files have URLs, as in a bucket; here, in Beam's file
// system in memory.
func TestBucket(t *testing.T) {
	s := people(t)
	fs := must.Get(filesystem.New(t.Context(), "memfs://rows/"))(t)
	for _, path := range s.paths {
		text := must.Get(os.ReadFile(path))(t)
		put(t, fs, "memfs://rows/"+filepath.Base(path), text)
	}
	paths, err := sums.Find(t.Context(), "memfs://rows/*.csv")
	if err != nil || len(paths) != len(s.paths) {
		t.Fatalf("%v: %v", paths, err)
	}
	must.Fail(t, must.Err(sums.Find(t.Context(), "memfs://rows/*.parquet")), "no such file")
	header, err := sums.Header(t.Context(), paths[0])
	if err != nil || header[0] != "age" {
		t.Errorf("header %v: %v", header, err)
	}
	_, j, _ := inProcess.start(t)
	dir := must.Get(job.NewDir("memfs://staging"))(t)
	got := must.Get(sums.Sum(t.Context(), j, dir, paths, table.Options{}, s.design, s.kinds()[1]))(t)
	if want, err := s.alone(t.Context(), s.kinds()[1]); err != nil || encoded(t, got) != encoded(t, want) {
		t.Errorf("other sums (%v)", err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 1 { // Beam leaves an empty file
		t.Errorf("left behind: %v", left)
	}
	if err := dir.Remove(context.Background()); err != nil {
		t.Error(err)
	}
	if left, _ := fs.List(t.Context(), "memfs://staging/*/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func put(t *testing.T, fs filesystem.Interface, path string, text []byte) {
	t.Helper()
	out := must.Get(fs.OpenWrite(t.Context(), path))(t)
	must.Get(out.Write(text))(t)
	must.Do(t, out.Close())
}

// What a worker wrote in part, or too late, is not read, and others cannot read any of it.
func TestStaging(t *testing.T) {
	dir := must.Get(job.NewDir(t.TempDir()))(t)
	for _, text := range []string{"one", "two"} {
		must.Do(t, dir.Write(t.Context(), []byte(text)))
	}
	files, err := filepath.Glob(string(dir) + "/*")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, path := range append(files, string(dir)) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v (%v)", path, info.Mode(), err)
		}
	}
	for _, cut := range []int64{34, 3, 0} {
		must.Do(t, os.Truncate(files[0], cut))
		found, err := dir.Read(t.Context())
		if err != nil || len(found) != 1 || !slices.Contains([]string{"one", "two"}, string(found[0])) {
			t.Errorf("cut to %d bytes: %q, %v", cut, found, err)
		}
	}
	must.Do(t, dir.Remove(t.Context()))
	if err := dir.Write(t.Context(), nil); err == nil {
		t.Error("a worker made the directory again")
	}
}

func TestWorkerCalled(t *testing.T) {
	for args, want := range map[string]bool{
		"--id='job-001_go' --provision_endpoint=localhost:1":  true, // Prism
		"--id=1-1 --provision_endpoint=localhost:1":           true, // Flink
		"--worker=true --id=1 --control_endpoint=localhost:1": true, // a container
		"release --eps 1 rows":                                false,
		"release --eps 1 --worker_binary dpreg-beam rows":     false,
		"release --eps 1 -o provision_endpoint worker":        false,
		"": false,
	} {
		if got := isWorker(strings.Fields(args)); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}
}
