package plot

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSquarify divides areas: each part has its share, lies inside and overlaps no other.
func TestSquarify(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		whole := area{random.Float64() * 9, random.Float64() * 9, 1 + random.Float64()*99, 1 + random.Float64()*99}
		values, sum := make([]float64, 1+random.IntN(40)), 0.0
		for i := range values {
			values[i] = math.Exp(6 * random.Float64())
			sum += values[i]
		}
		slices.Sort(values)
		slices.Reverse(values)
		all := squarify(values, whole)
		const eps = 1e-6
		for i, a := range all {
			if got, want := a.width*a.height/(whole.width*whole.height), values[i]/sum; math.Abs(got-want) > eps {
				t.Fatalf("part %d has %v of the area, want %v", i, got, want)
			}
			if a.x < whole.x-eps || a.y < whole.y-eps || a.x+a.width > whole.x+whole.width+eps ||
				a.y+a.height > whole.y+whole.height+eps {
				t.Fatalf("%v is not within %v", a, whole)
			}
			for _, b := range all[:i] {
				if a.x+a.width > b.x+eps && b.x+b.width > a.x+eps && a.y+a.height > b.y+eps && b.y+b.height > a.y+eps {
					t.Fatalf("%v overlaps %v", a, b)
				}
			}
		}
	}
}

// TestTreemap draws parts inside parts, and leaves the rest blank.
func TestTreemap(t *testing.T) {
	root := &Flame{Name: "all", Value: 100, Text: "100 %", Parts: []*Flame{
		{Name: "half", Value: 50, Text: "50 %", Series: 1, Parts: []*Flame{{Name: "in<it>", Value: 40, Text: "40 %"}}},
		{Name: "tiny", Value: 0.001, Series: 2},
	}}
	svg := string(NewTreemap("map", "Map", "", root).Panels[0].SVG)
	for _, want := range []string{"<title>all, 100 %</title>", "<title>half, 50 %</title>", "in&lt;it&gt;, 40 %"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the map lacks %s: %s", want, svg)
		}
	}
	if n := strings.Count(svg, `class="part s1"`); n != 2 || strings.Contains(svg, "tiny") {
		t.Errorf("%d parts of the first colour, want 2: %s", n, svg)
	}
	if NewTreemap("none", "Nothing", "", &Flame{Name: "all"}) != nil {
		t.Error("nothing is drawn")
	}
}
