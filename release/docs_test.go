package release

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/number"
)

// The examples of the format's page are releases.
func TestDocumentedExamples(t *testing.T) {
	page := must.Get(os.ReadFile("../docs/release-format.md"))(t)
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(examples) != 3 {
		t.Fatalf("%d examples, want 3", len(examples))
	}
	for i, e := range examples {
		r, err := Read(strings.NewReader(e[1]))
		if err != nil {
			t.Fatalf("example %d: %v", i, err)
		}
		if i < 2 && write(t, r) != e[1] {
			t.Errorf("example %d is not laid out as dpreg writes it", i)
		}
		if byHand := i == 2; byHand != (r.Privacy == nil) {
			t.Errorf("example %d: privacy %v", i, r.Privacy)
		}
	}
}

// The numbers that the page gives for the release in a frame.
func TestDocumentedFrame(t *testing.T) {
	page := must.Get(os.ReadFile("../docs/release-format.md"))(t)
	example := regexp.MustCompile("(?s)```json\n(\\{\n  \"format\": \"dpreg-release/2\".*?)```").FindStringSubmatch(string(page))
	r := must.Get(Read(strings.NewReader(example[1])))(t)
	v := []float64{0.9, 0.1}
	u, w := inFrame(r.Frame, v), inFrame(r.Frame, clipped(r.Frame, [][]float64{v})[0])
	s, sd := r.Scaled(), r.ScaledSD()
	spent, _ := total(r.parts(number.Exactly)).Float64()
	sub := must.Get(r.Select("x ~ y"))(t)
	var b strings.Builder
	fmt.Fprintf(&b, "a row          v = %v, u = %v, ‖u‖ = %.4g, ũ = %.4g\n", v, u, math.Sqrt(inner(u, u)), w)
	fmt.Fprintf(&b, "sensitivity    √2·(1.25² + 2²) = %.6g\n", math.Sqrt2*(1.25*1.25+2*2))
	fmt.Fprintf(&b, "spent of ε     %s; in all %.6g\n", listed(r.parts(number.Exactly)), spent)
	fmt.Fprintf(&b, "L, by rows     %v\n", r.Frame.Inverse())
	fmt.Fprintf(&b, "Σx, Σy         %.6g, sd of the noise %.3g\n", s[:2], sd[:2])
	fmt.Fprintf(&b, "Σx², Σxy, Σy²  %.6g, sd of the noise %.3g\n", s[2:], sd[2:])
	fmt.Fprintf(&b, "of (y, x)      c = %v, W = %.4g, Σũ = %.6g, Σũũᵀ = %.6g\n", sub.Frame.Centre, sub.Frame.Matrix, sub.Statistics.Vector()[:2], sub.Statistics.Vector()[2:])
	if !strings.Contains(string(page), "```\n"+b.String()+"```") {
		t.Errorf("the page has not\n%s", b.String())
	}
}
