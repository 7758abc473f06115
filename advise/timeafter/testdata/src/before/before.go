package before

import (
	"context"
	"time"
)

type Work struct{}

func process(Work) {}

// The document's code.
func consume(ctx context.Context, ch <-chan Work) {
	for {
		select {
		case w := <-ch:
			process(w)
		case <-time.After(100 * time.Millisecond): // want `make one before the loop and Reset it`
			// periodic housekeeping
		case <-ctx.Done():
			return
		}
	}
}

func wait(ch <-chan Work, d func() time.Duration) {
	for range 100 {
		select {
		case <-ch:
		case <-time.After(d()): // want `in each round`
		}
	}
}

const idle = time.Minute

func long(ch <-chan Work) {
	// Until it is closed.
	for {
		if len(ch) > 3 {
			continue
		}
		select {
		case _, ok := <-ch:
			if !ok {
				return
			}
		case <-time.After(idle): // want `in each round`
		}
	}
}
