package life

import "testing"

// TestResults: what a call returns, without errors.
func TestResults(t *testing.T) {
	p := load(t, "p.go", `package p

import "os"

func read(name string) ([]byte, error) { return os.ReadFile(name) }
`)
	for _, s := range p.Sites() {
		if s.Func.Name() != "read" || s.Kind != Call {
			continue
		}
		if all := Results(s.Value); len(all) != 1 || !IsBytes(all[0].Type()) {
			t.Errorf("results %v, want the bytes", all)
		}
		return
	}
	t.Error("no call found")
}
