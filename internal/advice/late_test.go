package advice

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

const lateMaps = `package m

func YesGuarded(in []int) map[int]int {
	m := make(map[int]int)
	for i, v := range in {
		if v < 0 {
			m[i]++
		}
	}
	if len(m) != 0 {
		return m
	}
	return nil
}

func YesRead(in []int) (n int) {
	m := map[int]int{}
	for _, v := range in {
		if m[v] > 0 {
			n++
		}
		m[v] = v
	}
	for range m {
		n++
	}
	return n + len(m)
}

func NoReturned(in []int) map[int]int {
	m := map[int]int{}
	for i := range in {
		m[i] = i
	}
	return m
}

func NoOther(m map[int]int) map[int]int {
	if len(m) > 0 {
		m := map[int]int{}
		m[1] = 2
		return m
	}
	return nil
}

func NoElse(in []int) map[int]int {
	m := map[int]int{}
	if len(m) > 0 {
		m[1] = 2
	} else {
		return m
	}
	return nil
}

func NoListed(all []map[int]int) []map[int]int {
	m := map[int]int{}
	m[1] = 2
	return append(all, m)
}

func NoCalled(do func(func())) {
	m := map[int]int{}
	do(func() { m[1] = 2 })
}

func NoCompared() bool {
	m := map[int]int{}
	return m == nil
}

func NoRanged(in []int) int {
	m := map[int]int{}
	for _, m[1] = range in {
	}
	return m[1]
}

func NoLarge(n int) int {
	m := make(map[int]int, n)
	m[1] = 2
	return len(m)
}

func NoPlace(n int) (k int) {
	for m := map[int]int{}; k < n; k++ {
		m[k] = k
	}
	return k
}
`

// TestLateMapsAreNotSeenEmpty: a map is made later only where nobody is given it while it has no entries.
func TestLateMapsAreNotSeenEmpty(t *testing.T) {
	x, p := explainerOf(t, lateMaps)
	asked := 0
	for _, s := range p.Sites() {
		if s.Kind != life.Map {
			continue
		}
		asked++
		m := (&subject{x: x, p: p, s: s}).mender()
		if got, want := m.late(), strings.HasPrefix(s.Func.Name(), "Yes"); got != want {
			t.Errorf("%s: %v, want %v", s.Func.Name(), got, want)
		}
	}
	if want := strings.Count(lateMaps, "\nfunc "); asked != want {
		t.Errorf("%d of %d maps", asked, want)
	}
}
