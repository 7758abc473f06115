package before

type sorter struct{ gaps []int }

func newSorter() *sorter { return &sorter{gaps: make([]int, 0, 4)} }

type feed struct{ queue *sorter }

func newFeed() *feed {
	return &feed{queue: newSorter()} // want `where nothing else holds queue`
}

func (f *feed) clear() {
	f.queue = newSorter() // want `queue is an allocation of its own`
}
