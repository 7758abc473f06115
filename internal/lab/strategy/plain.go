package strategy

func init() {
	// A new buffer for every operation, left to the collector: it escapes, because
	// the compiler does not know work.
	Register("plain", func(size, workers int) ([]Worker, error) {
		return shared(workers, func(work func([]byte) uint64) uint64 { return work(make([]byte, size)) }), nil
	})
}
