package before

import "time"

type batcher struct {
	todo   []int
	notify chan int
}

func (b *batcher) run() {
	for {
		select {
		case n := <-b.notify:
			b.todo = append(b.todo, n)
		case <-b.wait(time.Second):
		}
	}
}

func (b *batcher) wait(most time.Duration) <-chan time.Time {
	if len(b.todo) == 0 {
		return nil
	}
	if d := time.Duration(len(b.todo)); d < most {
		return time.After(d) // want `for each round of the select that waits for it`
	}
	return time.After(most) // want `for each round of the select that waits for it`
}
