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

// What a client did before a request happens before the handler, and what the handler did
// happens before the client has the response, as with net/http: race builds show it.
func TestRequestsOrderMemory(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		var asked, answered int
		addr := serve(t, &Server{Handler: HandlerFunc(func(*Context) { answered = asked })})
		for range 3 {
			asked++
			_, r := dial(t, addr, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			if answer(t, r); answered != asked {
				t.Errorf("the handler saw %d, want %d", answered, asked)
			}
		}
	})
}

var dateField = regexp.MustCompile(`Date: [^\r]*`)
