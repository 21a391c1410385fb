package release

import (
	"strings"
	"testing"
)

// A part says which, of how many, of which dealing; it is read back, sub-models are of it, and others are refused.
func TestPart(t *testing.T) {
	part := func(number int64, dealing string) *Release {
		r := pooled()
		r.Pooled, r.Noise.Scale = nil, 10*r.Noise.Scale
		r.Part = &Part{number, 8, strings.Repeat(dealing, 32)}
		return r
	}
	one, two, other := part(1, "a"), part(2, "a"), part(2, "b")
	r, err := Read(strings.NewReader(write(t, one)))
	if err != nil || *r.Part != *one.Part {
		t.Fatalf("read %+v (%v)", r, err)
	}
	if !OneDealing(r, two) || OneDealing(r, other) || OneDealing(r, one) || OneDealing(r, pooled()) {
		t.Error("which are of one dealing is not told")
	}
	for field, wrong := range map[string]Part{"part.of": {1, 1, two.Part.Dealing}, "part.number": {9, 8, two.Part.Dealing}, "part.dealing": {1, 8, "A"}} {
		r := part(1, "a")
		r.Part = &wrong
		wantInvalid(t, "wrong", r, field)
	}
	two.Privacy = nil
	wantInvalid(t, "without privacy", two, "part")
}
