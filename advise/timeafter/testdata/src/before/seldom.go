package before

import (
	"context"
	"time"
)

// What waits long in each round, or only after an error, a profile must show.
func heartbeat(ctx context.Context, beat func()) {
	go func() {
		for {
			select {
			case <-time.After(time.Minute): // want `in each round`
				beat()
			case <-ctx.Done():
				return
			}
		}
	}()
}

func retry(ctx context.Context, dial func() error, delay time.Duration) {
	for {
		if err := dial(); err != nil {
			select {
			case <-time.After(delay): // want `in each round`
			case <-ctx.Done():
				return
			}
			continue
		}
	}
}
