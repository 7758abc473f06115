package advice

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Limit bounds the time of the processes that a command starts.
type Limit struct {
	Budget time.Duration // for all of them; 0 for no limit
	Began  time.Time     // when the budget begins; zero for now, in each step
}

// ends returns the end of the budget; zero for never.
func (l Limit) ends() time.Time {
	began := l.Began
	switch {
	case l.Budget == 0:
		return time.Time{}
	case began.IsZero():
		began = time.Now()
	}
	return began.Add(l.Budget)
}

// keeping returns a limit that ends earlier, by 1/part of the budget, to leave time for what comes later.
func (l Limit) keeping(part time.Duration) Limit {
	l.Budget -= l.Budget / part
	return l
}

// within returns a context that ends with the budget, or earlier, once 1/part of the budget has passed.
func (l Limit) within(ctx context.Context, part time.Duration) (context.Context, context.CancelFunc) {
	end := l.ends()
	if end.IsZero() {
		return context.WithCancel(ctx)
	}
	if sooner := time.Now().Add(l.Budget / part); sooner.Before(end) {
		end = sooner
	}
	return context.WithDeadline(ctx, end)
}

// ended returns the error of a step that was cut before something, if only the budget cut it; else err.
func (l Limit) ended(ctx context.Context, err error, before string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if l.Budget == 0 || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("the time for it ended before %s; give more with --budget, which is %v", before, l.Budget)
}
