package plan

// Median is that of the widths.
func Median(s SlopeForecast) float64 { return s.median }
