package whennot

type Tenant struct {
	ID   uint64
	Name string
}

type anonymous struct{ name string }

type Key struct {
	Tenant *Tenant
	ID     int64
}

type identity struct{ p *anonymous }

func local(keys []Key) int {
	seen := map[Key]bool{}
	for _, k := range keys {
		seen[k] = true
	}
	return len(seen)
}

var (
	byText  map[string]int
	byID    map[identity]int
	direct  map[*anonymous]int
	objects map[Key]*Tenant // scanned anyway
)

type gauge struct{ name string }

func (g *gauge) Index(of int) int { return of } // not a number of its own

type gauges map[*gauge]int
