package calibration

import "github.com/dpreg/dpreg/schema"

// cirrhosis is wine consumed per head and the death rate from cirrhosis in 46
// American states: columns of testdata/cirrhosis.csv, whose SOURCE.md has the source.
var cirrhosis = [...][2]float64{
	{5, 41.2}, {4, 31.7}, {3, 39.4}, {7, 57.5}, {11, 74.8}, {9, 59.8}, {6, 54.3}, {3, 47.9},
	{12, 77.2}, {7, 56.6}, {14, 80.9}, {12, 34.3}, {10, 53.1}, {10, 55.4}, {14, 57.8}, {9, 62.8},
	{7, 67.3}, {18, 56.7}, {6, 37.6}, {31, 129.9}, {13, 70.3}, {20, 104.2}, {19, 83.6}, {10, 66.0},
	{4, 52.3}, {16, 86.9}, {9, 66.6}, {6, 40.1}, {6, 55.7}, {21, 58.1}, {15, 74.3}, {17, 98.1},
	{7, 40.7}, {13, 66.7}, {8, 48.0}, {28, 122.5}, {23, 92.1}, {22, 76.0}, {23, 97.5}, {7, 33.8},
	{16, 90.5}, {2, 29.7}, {6, 28.0}, {3, 51.6}, {8, 55.7}, {13, 55.5},
}

// cirrhosisColumns has both columns on [0, 1].
func cirrhosisColumns() *schema.Design {
	return &schema.Design{
		Response:   schema.Column{Name: "cirrhosis", Lower: 0, Upper: 1},
		Covariates: []schema.Column{{Name: "wine", Lower: 0, Upper: 1}},
		Intercept:  true,
	}
}

// cirrhosisOnUnit is the data with each column's extremes at 0 and 1.
func cirrhosisOnUnit() [][2]float64 {
	low, high := cirrhosis[0], cirrhosis[0]
	for _, row := range cirrhosis {
		for j, v := range row {
			low[j], high[j] = min(low[j], v), max(high[j], v)
		}
	}
	rows := make([][2]float64, len(cirrhosis))
	for i, row := range cirrhosis {
		for j, v := range row {
			rows[i][j] = (v - low[j]) / (high[j] - low[j])
		}
	}
	return rows
}
