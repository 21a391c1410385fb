package plan

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/dpreg/dpreg/internal/number"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
)

// Format is the first member of a forecast's JSON.
const Format = "dpreg-plan/2"

type forecastJSON struct {
	Format     string          `json:"format"`
	Simulated  bool            `json:"simulated"`
	Schema     *schema.Design  `json:"schema"`
	Method     string          `json:"method"`
	Neighbours string          `json:"neighbours"`
	Delta      float64         `json:"delta"`
	Level      float64         `json:"level"`
	Releases   int             `json:"releases"`
	Seed       uint64          `json:"seed"`
	Assumed    *Assumption     `json:"assumed"`
	Prior      []priorJSON     `json:"prior"`
	Points     []forecastPoint `json:"points"`
	Warnings   []string        `json:"warnings"`
}

type priorJSON struct {
	Name  string      `json:"name"`
	Width number.JSON `json:"width"`
	Truth number.JSON `json:"truth"`
}

type forecastPoint struct {
	N       int64           `json:"n"`
	Epsilon float64         `json:"epsilon"`
	Noise   release.Noise   `json:"noise"`
	Slopes  []forecastSlope `json:"slopes"`
}

type forecastSlope struct {
	Name             string      `json:"name"`
	Width            number.JSON `json:"width"`
	WidthError       number.JSON `json:"width_mcse"`
	Contraction      number.JSON `json:"contraction"`
	ContractionError number.JSON `json:"contraction_mcse"`
	Price            number.JSON `json:"price"`
	PriceError       number.JSON `json:"price_mcse"`
	SD               number.JSON `json:"sd"`
	NoiselessSD      number.JSON `json:"noiseless_sd"`
	Detected         number.JSON `json:"detected"`
	DetectedError    number.JSON `json:"detected_mcse"`
}

// WriteJSON writes the forecast as dpreg-plan/2, indented, numbers in full
// precision, null for what does not exist.
func (f *Forecast) WriteJSON(w io.Writer) error {
	out := forecastJSON{
		Format: Format, Simulated: true, Schema: f.Design, Method: f.Method, Neighbours: string(release.ReplaceOne),
		Delta: f.Delta, Level: f.Level, Releases: f.Releases, Seed: f.Seed, Assumed: f.Assumed, Warnings: f.Warnings,
	}
	if out.Warnings == nil {
		out.Warnings = []string{}
	}
	for _, a := range f.Alone {
		out.Prior = append(out.Prior, priorJSON{a.Name, number.JSON(a.Width), number.JSON(a.Truth)})
	}
	for _, p := range f.Points {
		point := forecastPoint{N: p.N, Epsilon: p.Epsilon, Noise: p.Noise}
		for j, s := range p.Slopes {
			n := s.numbers()
			point.Slopes = append(point.Slopes, forecastSlope{f.Alone[j].Name,
				number.JSON(n[0]), number.JSON(n[1]), number.JSON(n[2]), number.JSON(n[3]), number.JSON(n[4]),
				number.JSON(n[5]), number.JSON(n[6]), number.JSON(n[7]), number.JSON(n[8]), number.JSON(n[9])})
		}
		out.Points = append(out.Points, point)
	}
	return number.Indented(w, out)
}

// numbers are in the order of the JSON's members.
func (s SlopeForecast) numbers() []float64 {
	return []float64{s.Width, s.WidthError, s.Contraction, s.ContractionError, s.Price, s.PriceError, s.SD, s.NoiselessSD, s.Detected, s.DetectedError}
}

// WriteCSV writes a line for each slope at each point under the names of the
// JSON's members, numbers in full precision, NA for what does not exist.
func (f *Forecast) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	records := [][]string{{"n", "epsilon", "noise", "noise_scale", "name", "width", "width_mcse", "contraction", "contraction_mcse",
		"price", "price_mcse", "sd", "noiseless_sd", "detected", "detected_mcse"}}
	for _, p := range f.Points {
		for j, s := range p.Slopes {
			record := []string{strconv.FormatInt(p.N, 10), number.CSV(p.Epsilon), string(p.Noise.Kind), number.CSV(p.Noise.Scale), f.Alone[j].Name}
			for _, v := range s.numbers() {
				record = append(record, number.CSV(v))
			}
			records = append(records, record)
		}
	}
	return out.WriteAll(records)
}
