package advice

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Limit is when the processes that a command starts have to end.
type Limit struct {
	Budget time.Duration // for all of them; 0 for no end
	Began  time.Time     // when it begins; zero for now, in each step
}

// ends is when the budget is over; zero for never.
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

// keeping is a limit that ends before the other, by a part of it: what comes later needs that.
func (l Limit) keeping(part time.Duration) Limit {
	l.Budget -= l.Budget / part
	return l
}

// within returns a context that ends with the budget, or before that, when a part of all of it is over.
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

// ended is the error of what was cut before something, if the budget alone did; else err.
func (l Limit) ended(ctx context.Context, err error, before string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if l.Budget == 0 || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("the time for it ended before %s; give more with --budget, which is %v", before, l.Budget)
}
