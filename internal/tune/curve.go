package tune

import (
	"errors"
	"fmt"
	"math"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A CurvePoint is a published figure: how much a program did in a second at a
// GOGC.
type CurvePoint struct {
	Percent    int
	Throughput float64
}

// A Curve is the law 1/throughput = a + b/GOGC, for figures that come without
// a trace: b/GOGC is the time that collections take, whose number is inverse
// to GOGC while the live heap stays.
type Curve struct {
	a, b        float64
	least, most int // GOGC of the points
}

// NewCurve fits the law to two points or more, by least squares.
func NewCurve(points []CurvePoint) (Curve, error) {
	var n, sx, sy, sxx, sxy float64
	c := Curve{least: math.MaxInt}
	for _, p := range points {
		if p.Percent < 1 || p.Throughput <= 0 {
			return Curve{}, fmt.Errorf("tune: curve: %v at GOGC=%d: want a rate above 0 at a GOGC of 1 or more", p.Throughput,
				p.Percent)
		}
		x, y := 1/float64(p.Percent), 1/p.Throughput
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		c.least, c.most = min(c.least, p.Percent), max(c.most, p.Percent)
	}
	if c.least >= c.most {
		return Curve{}, errors.New("tune: curve: want points at two values of GOGC or more")
	}
	c.b = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	c.a = (sy - c.b*sx) / n
	if c.b < 0 || c.a <= 0 {
		return Curve{}, errors.New("tune: curve: throughput falls with GOGC: collection is not what limits it; measure " +
			"instead")
	}
	return c, nil
}

// extrapolate is how far beyond its points, as a factor, a curve is believed.
const extrapolate = 4

// Predict returns the throughput at a setting, or an error that says why the
// curve does not tell.
func (c Curve) Predict(gc cell.GC) (float64, error) {
	if gc.LimitBytes > 0 {
		return 0, errors.New("tune: curve: a memory limit needs the live heap, which points of a curve do not tell: run " +
			"the program")
	}
	if gc.Percent < 0 {
		return 0, fmt.Errorf("tune: curve: GOGC=off: without collection memory is touched for the first time over and "+
			"over, at a cost that points with collection do not show (the law alone would say %.6g): run the program", 1/c.a)
	}
	x := c.b / float64(gc.Percent)
	if share := x / (c.a + x); share > 0.33 && gc.Percent*extrapolate < c.least {
		return 0, fmt.Errorf("tune: curve: GOGC=%d is %.0f times below the least point, and collections would take %.0f %% "+
			"of the time: so close together they contend for locks and CPUs, which the law does not contain (it would say "+
			"%.6g): run the program",
			gc.Percent, float64(c.least)/float64(gc.Percent), 100*share, 1/(c.a+x))
	}
	return 1 / (c.a + x), nil
}

// Smallest is the least GOGC whose throughput is within the tolerance of what
// no collection at all would give, page faults aside.
func (c Curve) Smallest(tolerance float64) int {
	return int(math.Ceil((1 - tolerance) / tolerance * c.b / c.a))
}
