package strategy

func init() {
	// A channel that holds 5 buffers, or one per worker if that is more.
	Register("chanpool", func(size, workers int) (Strategy, error) {
		s := make(chanPool, max(5, workers))
		for range cap(s) {
			s <- make([]byte, size)
		}
		return s, nil
	})
}

// chanPool is seed document 000's pool of 5 buffers (step 6), with at least one
// buffer per worker. The comparison is about the cost of the channel, not about
// waiting for a buffer.
type chanPool chan []byte

func (s chanPool) Worker(int) Worker { return s }

func (s chanPool) Do(work func([]byte) uint64) uint64 {
	b := <-s
	sum := work(b)
	s <- b
	return sum
}
