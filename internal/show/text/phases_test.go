package text

import (
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func TestSlowestOperation(t *testing.T) {
	p := cell.Phases{Above: 0.99, Ops: 4, SlowestNs: 2e6}
	for stopped, want := range map[int64]string{0: "the world was never stopped", 3e3: "the world was stopped for 3.00 µs"} {
		p.SlowestStoppedNs = stopped
		if got := PhasesLine(&p); !strings.HasSuffix(got, want) {
			t.Errorf("stopped for %d ns: %q, want %q at the end", stopped, got, want)
		}
	}
}
