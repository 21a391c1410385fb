package number

import (
	"bytes"
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	var b bytes.Buffer
	if err := Lines(&b, []float64{0.1, math.NaN(), math.Inf(-1), 1e300}); err != nil || b.String() != "[\n  0.1,\n  null,\n  null,\n  1e+300\n]\n" {
		t.Errorf("got %s, %v", &b, err)
	}
	for v, want := range map[float64]string{0.1: "0.1", -1.0 / 3: "-0.3333333333333333", 1e21: "1e+21", math.Inf(1): "NA"} {
		if got := CSV(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
	if got := CSV(math.NaN()); got != "NA" {
		t.Errorf("NaN is written %s", got)
	}
	if got := Decimal(0.1).RatString(); got != "1/10" {
		t.Errorf("0.1 is %s", got)
	}
}
