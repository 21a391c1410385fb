package main

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/dpreg/dpreg/custody"
)

// Values of flags are refused, or are what they say: whatever is typed, nothing crashes.
func FuzzFlags(f *testing.F) {
	for _, text := range []string{"1", "0.1,0.5", "1e-6", "2/5", "1/1 x", "1e999", " 3 , 4", "1,,2", "0.95", "auto", "y ~ x", "x=0:40", "\x00", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseList("n", text, whole[int64](100))
		for _, n := range list {
			if err == nil && (n < 1 || n > 100) {
				t.Errorf("%q: %d", text, n)
			}
		}
		eps, err := custody.ParseEpsilon(text)
		if err == nil {
			near, _ := asWritten(text).Float64()
			if eps != near || !(eps > 0) || math.IsInf(eps, 0) || asWritten(strconv.FormatFloat(eps, 'g', -1, 64)).Cmp(new(big.Rat)) <= 0 {
				t.Errorf("epsilon %q is %v, and %v as written", text, eps, near)
			}
		}
		delta, err := custody.ParseDelta(text)
		if err == nil && !(delta >= 0 && delta < 1) {
			t.Errorf("delta %q is %v", text, delta)
		}
		if err == nil && text != "" && asWritten(text) == nil {
			t.Errorf("delta %q is no number as written", text)
		}
		s, err := (&flags{cmd: &cobra.Command{}, shard: text, save: "d"}).parseShard()
		if err == nil && text != "" && !(1 <= s.Index && s.Index <= s.Count) {
			t.Errorf("shard %q is %v", text, s)
		}
		cmd := named(nil).declare("account gaussian", takes(0, ""), "q", accountGaussian)
		if cmd.Flags().Set("q", text) == nil {
			if rate, err := cmd.Flags().GetFloat64("q"); err != nil || !(rate > 0 && rate <= 1) {
				t.Errorf("rate %q is %v", text, rate)
			}
		}
		if strings.ContainsAny(text, "\x00") {
			return // no argument of a program has one
		}
		if o, err := (&flags{audited: text, releases: "1000", epsilon: "1", mechanism: "auto", neighbours: "replace-one"}).audits(); err == nil && len(o) == 0 {
			t.Errorf("--m %q: neither audits nor an error", text)
		}
	})
}
