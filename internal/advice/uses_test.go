package advice

import (
	"testing"

	"github.com/isobar-go/isobar/advise/life"
)

// TestUses: what is asked of the uses of a value.
func TestUses(t *testing.T) {
	_, p := explainerOf(t, `package m

func only(s []int, n int) int { l := make([]int, n); copy(l, s); return l[1] + len(l) }

func passed(f func([]int), n int) { l := make([]int, n); f(l) }
`)
	found := 0
	for _, s := range p.Sites() {
		if s.Kind != life.Make {
			continue
		}
		found++
		name := s.Func.Name()
		if got := elements(s.Value); got != (name == "only") {
			t.Errorf("%s: only elements are used: %v", name, got)
		}
		if got := len(takers(s.Value)); got != map[string]int{"passed": 1}[name] {
			t.Errorf("%s: given to %d calls", name, got)
		}
	}
	if found != 2 {
		t.Errorf("%d slices, want 2", found)
	}
}
