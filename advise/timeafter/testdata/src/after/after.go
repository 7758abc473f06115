package after

import (
	"context"
	"time"
)

type Work struct{}

func process(Work) {}

func consume(ctx context.Context, ch <-chan Work) {
	t := time.NewTimer(100 * time.Millisecond)
	defer t.Stop()
	for {
		if !t.Stop() {
			select {
			case <-t.C:
			default:
			} // drain if already fired (pre-1.23)
		}
		t.Reset(100 * time.Millisecond)
		select {
		case w := <-ch:
			process(w)
		case <-t.C:
			// housekeeping
		case <-ctx.Done():
			return
		}
	}
}
