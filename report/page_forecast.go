package report

import (
	"fmt"
	"io"

	"github.com/dpreg/dpreg/plan"
)

// ForecastPage writes a forecast of one slope as a page. It panics where the forecast
// has no such slope.
func ForecastPage(w io.Writer, f *plan.Forecast, o ForecastOptions, run Run) error {
	o.fill()
	drawn, err := drawForecast(f, o)
	if err != nil {
		return err
	}
	picture, err := drawn.picture()
	if err != nil {
		return err
	}
	table := forecastTable(f, o.Slope)
	p := page{Title: "Plan for " + Formula(f.Design), Lead: "What a release would tell, before any row is touched: no data were read, and nothing was spent."}
	p.add("What was asked", block{Command: run.Command}, block{Text: simulated(f, o)}, block{Text: assumed(f)})
	p.add("What follows", append(paragraphs(conclusions(f, o.Slope)...), block{Picture: picture})...)
	p.add("The numbers", block{Table: &table}, block{Text: forecastLegend(f, o.Slope)})
	p.addWarnings(f.Warnings)
	p.addRepeat(run, "The same command and version give the same numbers, whatever the number of cores.", fact{"Seed", fmt.Sprint(f.Seed)})
	return p.write(w)
}
