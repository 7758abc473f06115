package strategy

func init() {
	// One buffer for each worker.
	Register("dummy", func(size, workers int) ([]Worker, error) {
		all := make([]Worker, workers)
		for i := range all {
			b := make([]byte, size)
			all[i] = func(work func([]byte) uint64) uint64 { return work(b) }
		}
		return all, nil
	})
}
