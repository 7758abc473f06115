package ingress

import "sync"

func init() {
	// A slice under a lock.
	Register("dummy", func(Config) (Loop, error) {
		d := &dummy{done: make(chan struct{})}
		d.ready.L = &d.mu
		go d.run()
		return d, nil
	})
}

type dummy struct {
	mu     sync.Mutex
	ready  sync.Cond // tasks came, or closed was set
	tasks  []Task    // owned by mu
	closed bool      // owned by mu
	done   chan struct{}
}

func (d *dummy) run() {
	defer close(d.done)
	for {
		d.mu.Lock()
		for len(d.tasks) == 0 && !d.closed {
			d.ready.Wait()
		}
		tasks := d.tasks
		d.tasks = nil
		d.mu.Unlock()
		if len(tasks) == 0 {
			return
		}
		for _, t := range tasks {
			t()
		}
	}
}

func (d *dummy) Submit(producer int, t Task) { d.SubmitBatch(producer, []Task{t}) }

func (d *dummy) SubmitBatch(_ int, ts []Task) {
	d.mu.Lock()
	d.tasks = append(d.tasks, ts...)
	d.mu.Unlock()
	d.ready.Signal()
}

func (d *dummy) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.ready.Signal()
	<-d.done
	return nil
}
