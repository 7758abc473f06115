package tune_test

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/tune"
)

// Two published points of a study predict a third, and the curve refuses what
// it cannot know.
func ExampleNewCurve() {
	curve, err := tune.NewCurve([]tune.CurvePoint{{Percent: 2400, Throughput: 671538.90}, {Percent: 4800, Throughput: 685810.90}})
	if err != nil {
		panic(err)
	}
	rate, err := curve.Predict(cell.GC{Percent: 11300})
	fmt.Printf("%.0f %v\n", rate, err)
	_, err = curve.Predict(cell.DefaultGC)
	fmt.Println(err != nil)
	// Output:
	// 694299 <nil>
	// true
}
