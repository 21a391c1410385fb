package release

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The examples of the format's page are releases.
func TestDocumentedExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/release-format.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(examples) != 2 {
		t.Fatalf("%d examples, want 2", len(examples))
	}
	for i, e := range examples {
		r, err := Read(strings.NewReader(e[1]))
		if err != nil {
			t.Fatalf("example %d: %v", i, err)
		}
		if i == 0 && write(t, r) != e[1] {
			t.Error("the first example is not laid out as dpreg writes it")
		}
		if byHand := i == 1; byHand != (r.Privacy == nil) {
			t.Errorf("example %d: privacy %v", i, r.Privacy)
		}
	}
}
