package http11

import (
	"regexp"
	"testing"

	"github.com/isobar-go/isobar/internal/base/invariant"
)

// raceOrDebug says that checks, which allocate, are compiled in.
const raceOrDebug = invariant.Enabled

// alone skips a test of one goroutine in race builds: it takes ten times as long
// there, and the detector has nothing to find. All other builds run it.
func alone(t *testing.T) {
	if invariant.Race {
		t.Skip("one goroutine: not in race builds")
	}
}

var dateField = regexp.MustCompile(`Date: [^\r]*`)
