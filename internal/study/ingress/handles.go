package ingress

import "github.com/isobar-go/isobar/eventloop"

func init() {
	// Eventloop.Loop through an eventloop.Producer for each producer.
	Register("handles", func(c Config) (Loop, error) {
		r, err := startEventLoop(c)
		if err != nil {
			return nil, err
		}
		h := &handles{real: r, producers: make([]*eventloop.Producer, c.Producers)}
		for i := range h.producers {
			p, err := r.loop.Producer()
			must(err) // nobody else can have closed the loop
			h.producers[i] = p
		}
		return h, nil
	})
}

type handles struct {
	*real
	producers []*eventloop.Producer // each belongs to its producer
}

func (h *handles) Submit(producer int, t Task) { must(h.producers[producer].Submit(t)) }

func (h *handles) SubmitBatch(producer int, ts []Task) {
	must(h.producers[producer].SubmitBatch(h.real.tasks(producer, ts)))
}
