package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// TestLateAnswers asks a worker that answers late. Members waits for it if it answered last
// time, and forgets it once it has left.
func TestLateAnswers(t *testing.T) {
	server := serve(t, ServerConfig{})
	f := connect(t, Options{Server: server})
	const wait = 50 * time.Millisecond
	startWorker(t, Options{Server: server}, workerConfig(t, "prompt", noop))
	late := connect(t, Options{Server: server})
	answers, err := late.nc.Subscribe(pingSubject, func(m *nats.Msg) {
		if doc, err := json.Marshal(Member{Name: "late"}); err == nil {
			time.Sleep(2 * wait)
			m.Respond(doc)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := late.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	names := func() string {
		members, err := f.Members(t.Context(), wait)
		if err != nil {
			t.Fatal(err)
		}
		all := ""
		for _, m := range members {
			all += m.Name + " "
		}
		return all
	}
	for !strings.Contains(names(), "prompt") { // until it has joined
	}
	f.patience = time.Minute
	f.answered = map[string]bool{"prompt": true, "late": true} // as after a call that gave them time
	for range 3 {
		if got := names(); got != "late prompt " {
			t.Errorf("%q answer, want both", got)
		}
	}
	if err := answers.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	if err := late.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	f.patience = wait
	if names(); f.answered["late"] {
		t.Error("Members goes on to wait for a worker that has left")
	}
}

// TestDrainName drains both workers of a name, and no other.
func TestDrainName(t *testing.T) {
	server := serve(t, ServerConfig{})
	f := connect(t, Options{Server: server})
	workers := map[string][]*Worker{}
	for _, name := range []string{"same", "same", "other"} {
		workers[name] = append(workers[name], startWorker(t, Options{Server: server}, workerConfig(t, name, noop)))
	}
	for {
		members, err := f.Members(t.Context(), 50*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if len(members) == 3 {
			break
		}
	}
	if n, err := f.Drain(t.Context(), "same"); err != nil || n != 2 {
		t.Errorf("Drain = %d, %v; want 2", n, err)
	}
	for name, all := range workers {
		for _, w := range all {
			if draining := w.Member().State == "draining"; draining != (name == "same") {
				t.Errorf("a worker named %s: draining is %v", name, draining)
			}
		}
	}
}
