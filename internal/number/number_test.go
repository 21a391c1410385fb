package number

import (
	"encoding/json"
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	if got, err := json.Marshal([]JSON{0.1, JSON(math.NaN()), JSON(math.Inf(-1)), 1e300}); err != nil || string(got) != "[0.1,null,null,1e+300]" {
		t.Errorf("got %s, %v", got, err)
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
