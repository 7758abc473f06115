// Command charts draws a chart of three series as SVG for each request.
package main

import (
	"log"
	"math"
	"net/http"
	"os"

	"github.com/wcharczuk/go-chart/v2"
)

func main() {
	http.HandleFunc("/chart", func(w http.ResponseWriter, r *http.Request) {
		var c chart.Chart
		for s := range 3 {
			var series chart.ContinuousSeries
			for i := range 200 {
				series.XValues = append(series.XValues, float64(i))
				series.YValues = append(series.YValues, math.Sin(float64(i*(s+1))/20))
			}
			c.Series = append(c.Series, series)
		}
		w.Header().Set("Content-Type", chart.ContentTypeSVG)
		if err := c.Render(chart.SVG, w); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
