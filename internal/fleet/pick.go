package fleet

import (
	"context"
	"fmt"
	"time"
)

// Pick returns a worker that meets the requirement: the first by name, preferring idle
// ones. It waits until there is one, and tells warn, which may be nil, once why.
func (f *Fleet) Pick(ctx context.Context, r Requirement, warn func(reason string)) (Member, error) {
	for {
		members, err := f.Members(ctx, 500*time.Millisecond)
		if err != nil {
			return Member{}, fmt.Errorf("fleet: pick: %w", err)
		}
		var found *Member
		for i := range members {
			if m := &members[i]; r.unmet(m) == "" && m.State != "draining" &&
				(found == nil || found.State != "idle" && m.State == "idle") {
				found = m
			}
		}
		if found != nil {
			return *found, nil
		}
		if warn != nil {
			reason := unfit(r, members)
			if reason == "" {
				reason = "the workers that could are leaving"
			}
			warn(reason)
			warn = nil
		}
		pause(ctx, time.Second)
	}
}
