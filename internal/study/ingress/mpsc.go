package ingress

import "github.com/isobar-go/isobar/queue"

func init() {
	// The unbounded queue of package queue.
	Register("mpsc", func(Config) (Loop, error) {
		return start(mpsc{queue.NewMPSC[Task](queue.MPSCConfig{})}, options{}), nil
	})
}

type mpsc struct{ q *queue.MPSC[Task] }

func (m mpsc) push(_ int, t Task)       { m.q.Push(t) }
func (m mpsc) pushAll(_ int, ts []Task) { m.q.PushBatch(ts) }
func (m mpsc) drain(dst []Task) int     { return m.q.Drain(dst) }
