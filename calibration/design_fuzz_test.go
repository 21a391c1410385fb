package calibration

import (
	"bytes"
	"testing"
)

// A design of any bytes is refused, or is one that is written and read back the same.
func FuzzReadDesign(f *testing.F) {
	for _, d := range []*Design{Fig3(), Fig4(), small()} {
		f.Add(d.Text())
	}
	f.Add([]byte(`{"format":"dpreg-study/1","trials":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ReadDesign(text)
		if err != nil {
			return
		}
		again, err := ReadDesign(d.Text())
		if err != nil || !bytes.Equal(again.Text(), d.Text()) {
			t.Fatalf("read back as\n%s\nerror %v, for\n%s", again.Text(), err, d.Text())
		}
	})
}
