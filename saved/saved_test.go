package saved

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// The name of a directory is no pattern, whatever it holds.
func TestDirOfAnyName(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "out[1]"))
	must.Do(t, os.Mkdir(string(d), 0o700))
	want := append(d.releasesOf(2), d.Chain(0))
	for _, path := range want {
		must.Do(t, os.WriteFile(path, nil, 0o600))
	}
	if got := append(d.FormerReleases(), must.Get(d.chains())(t)...); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
