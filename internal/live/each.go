package live

import (
	"context"
	"fmt"
	"io"
	"time"
)

// maxBackoff is the longest time between two attempts to reconnect.
const maxBackoff = 5 * time.Second

// Each calls each for every sample until it returns false or the feed has ended. An error
// before the first sample is returned; later ones are reported to status and retried.
func Each(ctx context.Context, feed Feed, c Config, status func(string), each func(Sample) (more bool)) error {
	first := ctx
	if c.Wait > 0 {
		var cancel context.CancelFunc
		first, cancel = context.WithTimeout(ctx, c.Wait)
		defer cancel()
	}
	seen, backoff := false, c.Interval
	for {
		wait := ctx
		if !seen {
			wait = first
		}
		s, err := feed.Next(wait)
		switch {
		case err == nil:
			if backoff > c.Interval {
				status("reconnected")
			}
			seen, backoff = true, c.Interval
			if !each(s) {
				return nil
			}
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case err == io.EOF: // a wrapped one is a connection that a server, or a proxy of it, has closed
			return nil
		case !seen && first.Err() != nil && err != first.Err(): // of a request
			return fmt.Errorf("watch: no answer within %v: %w; wait longer with --wait", c.Wait, err)
		case !seen && first.Err() != nil:
			return fmt.Errorf("watch: no sample from %s within %v; is it a Go program, and does it collect? Wait longer with "+
				"--wait", feed.Source(), c.Wait)
		case !seen || c.Once:
			return err
		}
		if backoff == c.Interval {
			status(err.Error() + "; trying again")
		}
		backoff = min(backoff*2, max(maxBackoff, 2*c.Interval))
		if !await(ctx, backoff) {
			return ctx.Err()
		}
	}
}
