package eventloop

import (
	"sync"
	"time"
)

// A stamped task records how long it waited before it runs. It is used if
// Config.Latency is set.
type stamped struct {
	loop *Loop
	task Task
	at   int64 // time of submission, by Loop.now
}

func (s *stamped) Run() {
	l, t := s.loop, s.task
	l.config.Latency.Record(time.Duration(l.now() - s.at))
	*s = stamped{}
	stamps.Put(s)
	t.Run()
}

var (
	stamps  = sync.Pool{New: func() any { return new(stamped) }}
	batches = sync.Pool{New: func() any { return new([]Task) }} // emptied
)

func (l *Loop) stamp(t Task, at int64) Task {
	s := stamps.Get().(*stamped)
	*s = stamped{l, t, at}
	return s
}

// pushStamped pushes stamped tasks.
func (l *Loop) pushStamped(to pusher, tasks []Task) int {
	buf := batches.Get().(*[]Task)
	at := l.now()
	for _, t := range tasks {
		*buf = append(*buf, l.stamp(t, at))
	}
	n := to.PushBatch(*buf)
	clear(*buf)
	*buf = (*buf)[:0]
	batches.Put(buf)
	return n
}
