package attach

import (
	"net/http/httptest"
	"runtime/debug"
	"testing"
	"time"

	"github.com/isobar-go/isobar/gcctl/gcctlhttp"
	"github.com/isobar-go/isobar/internal/lab/cell"
)

// TestRemoteSetsNothingOfToday: what the handler found is restored, and not set.
func TestRemoteSetsNothingOfToday(t *testing.T) {
	before := debug.SetGCPercent(80)
	defer debug.SetGCPercent(before)
	h := gcctlhttp.New(gcctlhttp.Config{})
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	r := Remote{URL: server.URL}
	for _, percent := range []int{80, 300, 80} {
		if err := r.Apply(t.Context(), cell.GC{Percent: percent}, time.Minute); err != nil {
			t.Fatal(err)
		}
		s, err := r.Look(t.Context())
		if err != nil || s.GC.Percent != percent || s.Found.Percent != 80 {
			t.Errorf("%+v, %v; want GOGC=%d", s, err, percent)
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if now := debug.SetGCPercent(80); now != 80 {
		t.Errorf("GOGC=%d is left", now)
	}
}
