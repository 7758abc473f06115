package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Status is a snapshot of the state of a fleet.
type Status struct {
	Server  string        `json:"server"`
	Cluster string        `json:"cluster,omitempty"`
	Workers []Member      `json:"workers"` // those that answered, by name
	Sweeps  []SweepStatus `json:"sweeps"`  // by ID
	Dead    uint64        `json:"dead"`    // messages given up
}

// A SweepStatus is a sweep's part of the streams. A coordinator publishes only part of its plan at a time.
type SweepStatus struct {
	ID       string      `json:"id"`
	Requires Requirement `json:"requires"`
	Queued   uint64      `json:"queued"`  // blocks that no worker holds
	Running  int         `json:"running"` // blocks that a worker holds
	Retried  int         `json:"retried"` // part of Running: given to a worker more than once
	Results  uint64      `json:"results"` // blocks not yet stored
	// Unmet says why no worker that answered qualifies; "" if one does.
	Unmet string `json:"unmet,omitempty"`
}

// Needs lists the requirements on workers, in words.
func (s SweepStatus) Needs() string {
	return strings.Join(slices.Concat([]string{s.Requires.Kind}, s.Requires.Platforms, s.Requires.Labels), " ")
}

// Status asks workers and servers. It waits for workers' answers like Members.
func (f *Fleet) Status(ctx context.Context, wait time.Duration) (*Status, error) {
	s := &Status{Server: f.nc.ConnectedServerName(), Cluster: f.nc.ConnectedClusterName(), Sweeps: []SweepStatus{}}
	var err error
	if s.Workers, err = f.Members(ctx, wait); err != nil {
		return nil, err
	}
	results := map[string]uint64{}
	err = f.consumers(ctx, resultStream, func(info *jetstream.ConsumerInfo) {
		results[info.Name] = info.NumPending + uint64(info.NumAckPending)
	})
	if err != nil {
		return nil, fmt.Errorf("fleet: status: %w", err)
	}
	err = f.consumers(ctx, workStream, func(info *jetstream.ConsumerInfo) {
		r, err := parseRequirement(info.Config.Metadata)
		if err != nil {
			return // not ours
		}
		s.Sweeps = append(s.Sweeps, SweepStatus{
			ID: info.Name, Requires: r, Queued: info.NumPending, Running: info.NumAckPending, Retried: info.NumRedelivered,
			Results: results[info.Name], Unmet: unfit(r, s.Workers),
		})
	})
	if err != nil {
		return nil, fmt.Errorf("fleet: status: %w", err)
	}
	slices.SortFunc(s.Sweeps, func(a, b SweepStatus) int { return strings.Compare(a.ID, b.ID) })
	dead, err := f.js.Stream(ctx, deadStream)
	if err != nil {
		return nil, fmt.Errorf("fleet: status: %w", err)
	}
	s.Dead = dead.CachedInfo().State.Msgs
	return s, nil
}

// consumers calls visit for each consumer of a stream.
func (f *Fleet) consumers(ctx context.Context, stream string, visit func(*jetstream.ConsumerInfo)) error {
	st, err := f.js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	list := st.ListConsumers(ctx)
	for info := range list.Info() {
		visit(info)
	}
	return list.Err()
}

// unfit says why no worker meets the requirement; "" if one does.
func unfit(r Requirement, workers []Member) string {
	if len(workers) == 0 {
		return "no worker has joined"
	}
	var reasons []string
	for i := range workers {
		reason := r.unmet(&workers[i])
		if reason == "" {
			return ""
		}
		if len(reasons) < 3 {
			reasons = append(reasons, workers[i].Name+": "+reason)
		}
	}
	return strings.Join(reasons, "; ")
}

// patience is how long Members waits for a member that answered last time.
const patience = 2 * time.Second

// Members returns the members that answer within the given time, by name. If a member that answered the
// last call is late, Members waits up to two seconds for it: on a busy machine it may still be there.
func (f *Fleet) Members(ctx context.Context, wait time.Duration) ([]Member, error) {
	f.mu.Lock()
	late, answered := maps.Clone(f.answered), map[string]bool{}
	f.mu.Unlock()
	inbox := nats.NewInbox()
	answers, err := f.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("fleet: members: %w", err)
	}
	defer answers.Unsubscribe()
	answers.SetPendingLimits(-1, -1)
	if err := f.nc.PublishRequest(pingSubject, inbox, nil); err != nil {
		return nil, fmt.Errorf("fleet: members: %w", err)
	}
	members := []Member{}
	// collect takes answers until enough have arrived, the time is up, or nobody listens;
	// it reports whether the time is up.
	collect := func(wait time.Duration, enough func() bool) bool {
		deadline, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		for !enough() {
			m, err := answers.NextMsgWithContext(deadline)
			if err != nil {
				return deadline.Err() != nil
			}
			var member Member
			if json.Unmarshal(m.Data, &member) == nil && member.Name != "" {
				members = append(members, member)
				answered[member.Name] = true
				delete(late, member.Name)
			}
		}
		return false
	}
	if collect(wait, func() bool { return false }) && ctx.Err() == nil {
		collect(f.patience, func() bool { return len(late) == 0 })
	}
	if ctx.Err() == nil {
		f.mu.Lock()
		f.answered = answered
		f.mu.Unlock()
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return members, ctx.Err()
}
