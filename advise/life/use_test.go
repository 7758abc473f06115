package life

import "testing"

// TestUses: what is asked of the uses of a value.
func TestUses(t *testing.T) {
	p := load(t, "p.go", `package p

import "os"

func only(s []int, n int) int { l := make([]int, n); copy(l, s); return l[1] + len(l) }

func passed(f func([]int), n int) { l := make([]int, n); f(l) }

func read(name string) ([]byte, error) { return os.ReadFile(name) }
`)
	for _, s := range p.Sites() {
		switch name := s.Func.Name(); {
		case name == "read" && s.Kind == Call:
			if all := Results(s.Value); len(all) != 1 || !IsBytes(all[0].Type()) {
				t.Errorf("results %v, want the bytes", all)
			}
		case s.Kind == Make:
			if got := Elements(s.Value); got != (name == "only") {
				t.Errorf("%s: only elements are used: %v", name, got)
			}
			if got := len(Calls(s.Value)); got != map[string]int{"passed": 1}[name] {
				t.Errorf("%s: given to %d calls", name, got)
			}
		}
	}
}
