package strategy

func init() {
	// One buffer for each worker.
	Register("dummy", func(size, workers int) (Strategy, error) { return dummy{size}, nil })
}

type dummy struct{ size int }

func (d dummy) Worker(int) Worker { return dummyWorker(make([]byte, d.size)) }

type dummyWorker []byte

func (w dummyWorker) Do(work func([]byte) uint64) uint64 { return work(w) }
