package workload

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/load"
)

// TestWarmUpOfAnEarlierRun: a run that is given the warm-up of an earlier one takes exactly that, in equal
// shares of its rates.
func TestWarmUpOfAnEarlierRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	c := load.Config{Address: strings.TrimPrefix(server.URL, "http://"), Path: "/", Rate: 200, Connections: 1}
	const given = 120 * time.Millisecond
	task := &served{env: Env{Params: Params{"warmup": "auto"}, WarmUp: given}}
	var spent time.Duration
	for i := range 2 {
		once, err := task.warmUp(t.Context(), c, i == 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		spent += once
	}
	if spent != given {
		t.Errorf("given %v, it warmed up for %v", given, spent)
	}
}
