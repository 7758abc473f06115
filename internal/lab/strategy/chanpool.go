package strategy

func init() {
	// A channel that holds 5 buffers, as in seed document 000 (step 6), or one per
	// worker if that is more: the comparison is about the cost of the channel, not
	// about waiting for a buffer.
	Register("chanpool", func(size, workers int) ([]Worker, error) {
		pool := make(chan []byte, max(5, workers))
		for range cap(pool) {
			pool <- make([]byte, size)
		}
		return shared(workers, func(work func([]byte) uint64) uint64 {
			b := <-pool
			sum := work(b)
			pool <- b
			return sum
		}), nil
	})
}
