package exhibit

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/isobar-go/isobar/eventloop"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/study/ingress"
)

// fairness has producers push until count tasks are queued, and reports the share of the
// slowest, 1 for an equal share: with a mutex and with the document's lock-free list.
func (t *loopTrial) fairness(rec *cell.Record) error {
	var mu sync.Mutex
	var tasks []func()
	list, task := ingress.NewList(), func() {}
	for name, push := range map[string]func(){
		"mutex":    func() { mu.Lock(); tasks = append(tasks, task); mu.Unlock() },
		"lockfree": func() { list.Push(task) },
	} {
		shares := make([]int, t.producers) // each owned by its producer
		var pushed atomic.Int64            // tasks of all; publishes nothing
		var pushing sync.WaitGroup
		for p := range t.producers {
			pushing.Go(func() {
				for n := 0; ; n++ {
					if pushed.Add(1) > int64(t.count) {
						shares[p] = n
						return
					}
					push()
				}
			})
		}
		pushing.Wait()
		rec.Set("/trial/"+name+"/least:ratio", float64(slices.Min(shares)*t.producers)/float64(t.count))
	}
	return nil
}

// clearing pushes bursts of tasks through the document's chunks, and reports how many slots
// of returned chunks were in use and how many were cleared.
func (t *loopTrial) clearing(rec *cell.Record) error {
	used, cleared := ingress.CountClearing(t.count, 100)
	rec.Set("/trial/used:slots", float64(used))
	rec.Set("/trial/cleared:slots", float64(cleared))
	return nil
}

// register registers a pipe with an eventloop.Loop and unregisters it, count
// times, and reports the allocations of a round.
func (t *loopTrial) register(rec *cell.Record) error {
	loop, err := eventloop.New(eventloop.Config{})
	if err != nil {
		return err
	}
	defer loop.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	fd, callback := int(r.Fd()), func(eventloop.Readiness) {}
	round := func() error {
		registration, err := loop.Register(fd, eventloop.Read, callback)
		if err != nil {
			return fmt.Errorf("register: %w", err)
		}
		return registration.Unregister()
	}
	if err := round(); err != nil { // makes the poller
		return err
	}
	before := mallocs()
	for range t.count {
		if err := round(); err != nil {
			return err
		}
	}
	rec.Set("/trial/register:allocs", float64(mallocs()-before)/float64(t.count))
	return nil
}
