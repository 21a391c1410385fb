// Package chromium finds a browser for tests of pages.
package chromium

import (
	"os"
	"os/exec"
	"testing"
)

// Find is the path of the browser; without one the test is skipped, unless DPREG_REQUIRE_CHROMIUM=1
// forbids that.
func Find(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("DPREG_REQUIRE_CHROMIUM") == "1" {
		t.Fatal("Chromium is required, and is not here")
	}
	t.Skip("without Chromium pages cannot be looked at")
	return ""
}
