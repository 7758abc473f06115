package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/show/text"
)

// fleetAge is how long a fleet's answer is reused.
const fleetAge = 1500 * time.Millisecond

// fleetWait bounds the wait for a fleet.
const fleetWait = 10 * time.Second

// A fleetSource asks a fleet on behalf of all current readers.
type fleetSource struct {
	ask func(context.Context) (*fleet.Status, error)

	mu   sync.Mutex
	at   time.Time // of the answer; guarded by mu
	last *fleetBody
}

// get returns the current body of the page. It does not fail: the body shows an error above
// the last known state.
func (f *fleetSource) get() *fleetBody {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last != nil && time.Since(f.at) < fleetAge {
		return f.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), fleetWait)
	defer cancel()
	now, err := f.ask(ctx)
	body := &fleetBody{}
	if f.last != nil {
		*body = *f.last
	}
	body.Trouble = ""
	if err != nil {
		body.Trouble = text.Clean(err.Error()) + "; retrying"
	} else {
		body.fill(now)
	}
	f.last, f.at = body, time.Now()
	return body
}

// A fleetBody is the body of the fleet's page: the fleet's last answer.
type fleetBody struct {
	fleet.Status
	Empty   *empty
	Trouble string
	Counts  []fleetCount
}

type fleetCount struct{ Name, Value string }

func (b *fleetBody) fill(f *fleet.Status) {
	b.Status = *f
	var queued, unstored uint64
	var running, retried, cells int
	var retries, lost int64
	for _, w := range f.Workers {
		retries, lost = retries+w.Retries, lost+w.LostHeartbeats
		if w.Sweep != "" {
			cells++
		}
	}
	for _, s := range f.Sweeps {
		queued, running, retried, unstored = queued+s.Queued, running+s.Running, retried+s.Retried, unstored+s.Results
	}
	b.Counts = []fleetCount{
		{"Workers", fmt.Sprint(len(f.Workers))}, {"Running cells", fmt.Sprint(cells)}, {"Blocks queued", fmt.Sprint(queued)},
		{"Running blocks", fmt.Sprint(running)},
		{"Of those, retried", fmt.Sprint(retried)}, {"Results not stored", fmt.Sprint(unstored)},
		{"Retries of workers", fmt.Sprint(retries)},
		{"Lost heartbeats", fmt.Sprint(lost)}, {"Messages given up", fmt.Sprint(f.Dead)},
	}
}

func init() {
	register(sitePage{"/fleet", (*Server).fleetPage, nav{60, "fleet", "Fleet", "/fleet"}})
}

func (s *Server) fleetPage(*http.Request) (*frame, error) {
	f := &frame{Section: "fleet", Title: "Fleet", main: templates()["fleet"]}
	if s.fleet == nil {
		f.Body = &fleetBody{Empty: &empty{"A fleet measures one plan on many machines. This page shows its workers, their " +
			"noise floor, the queue and the running cells, once isobar ui knows where the fleet is.",
			[]string{"isobar fleet serve --listen 127.0.0.1:4222", "isobar worker nats://127.0.0.1:4222 --token-file FILE",
				s.command("ui --fleet nats://127.0.0.1:4222 --fleet-token-file FILE")}}}
		return f, nil
	}
	f.Body = s.fleet.get()
	return f, nil
}

// serveFleetEvents sends the parts of the fleet page that have changed, keyed
// by element ID, until the client leaves.
func (s *Server) serveFleetEvents(w http.ResponseWriter, r *http.Request) {
	if s.fleet == nil {
		http.Error(w, "isobar ui: no fleet was named; give --fleet URL", http.StatusNotFound)
		return
	}
	sent := map[string]string{}
	stream(w, r, 2*s.poll, func() (event string, more bool) {
		parts, err := s.fleet.get().parts()
		if err != nil {
			return alive, false
		}
		maps.DeleteFunc(parts, func(name, part string) bool {
			before, ok := sent[name]
			return ok && before == part
		})
		maps.Copy(sent, parts)
		if len(parts) == 0 {
			return alive, true
		}
		data, err := json.Marshal(parts)
		return "data: " + string(data) + "\n\n", err == nil
	})
}

// parts renders the changing parts of the page, keyed by element ID.
func (b *fleetBody) parts() (map[string]string, error) {
	out := map[string]string{}
	for _, name := range []string{"trouble", "server", "counts", "workers", "sweeps"} {
		var buf bytes.Buffer
		if err := templates()["fleet"].ExecuteTemplate(&buf, "fleet-"+name, b); err != nil {
			return nil, err
		}
		out["fleet-"+name] = buf.String()
	}
	return out, nil
}
