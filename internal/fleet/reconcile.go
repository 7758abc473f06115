package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// stuckLooks is the number of consecutive checks after which a block counts as stuck.
const stuckLooks = 3

// reconcile compares the pending blocks with the streams. A block in neither
// stream was lost and is published again. A block in the work queue that its
// consumer will no longer deliver has used up its attempts and is given up.
func (s *sweep) reconcile(ctx context.Context) error {
	// A block moves from the work queue to the results, so check them in this
	// order.
	work, err := s.blocksIn(ctx, workStream, sweepSubjects("work", s.ID))
	if err != nil {
		return err
	}
	results, err := s.blocksIn(ctx, resultStream, sweepSubjects("result", s.ID))
	if err != nil {
		return err
	}
	consumer, err := s.fleet.js.Consumer(ctx, workStream, s.ID)
	if err != nil {
		return fmt.Errorf("consumer of work: %w", err)
	}
	info := consumer.CachedInfo()
	idle := info.NumPending == 0 && info.NumAckPending == 0
	var unsent []*block
	var lost []*Result
	for _, b := range s.pending {
		if work[b.number] && !results[b.number] && idle {
			b.stuck++
		} else {
			b.stuck = 0
		}
		switch {
		case b.stuck >= stuckLooks:
			reason := fmt.Sprintf("given to a worker %d times, and none finished it: the worker's log says why, or its "+
				"machine died", s.Attempts)
			if err := s.fleet.bury(ctx, workSubject(s.ID, b.number), Dead{Reason: reason, Deliveries: s.Attempts}); err != nil {
				return err
			}
			lost = append(lost, s.fail(b, reason))
		case work[b.number], results[b.number]:
			s.markSent(b)
		default:
			if b.sent {
				s.sent--
			}
			b.sent = false
			unsent = append(unsent, b)
		}
	}
	slices.SortFunc(unsent, func(a, b *block) int { return a.cells[0].Index - b.cells[0].Index })
	s.order, s.lastAt = unsent, time.Now()
	for _, r := range lost {
		s.Warn("gave up block %d: %v", r.Block, r.Records[0].Err)
		if err := s.fleet.purge(ctx, workStream, workSubject(s.ID, r.Block)); err != nil {
			return err
		}
	}
	return s.store(lost)
}

// blocksIn returns the numbers of the blocks in a stream.
func (s *sweep) blocksIn(ctx context.Context, stream, subjects string) (map[int]bool, error) {
	st, err := s.fleet.js.Stream(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", stream, err)
	}
	info, err := st.Info(ctx, jetstream.WithSubjectFilter(subjects))
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", stream, err)
	}
	blocks := make(map[int]bool, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		if _, number, err := subjectBlock(subject); err == nil {
			blocks[number] = true
		}
	}
	return blocks, nil
}

// collectDead stores failures for the blocks that workers gave up.
func (s *sweep) collectDead() error {
	batch, err := s.dead.FetchNoWait(fetchBatch)
	if err != nil {
		return fmt.Errorf("fetch dead messages: %w", err)
	}
	for m := range batch.Messages() {
		_, number, err := subjectBlock(m.Subject())
		b := s.pending[number]
		var dead Dead
		if err == nil && b != nil && json.Unmarshal(m.Data(), &dead) == nil && dead.Worker != "" {
			s.Warn("block %d: worker %s gave up: %s", number, dead.Worker, dead.Reason)
			if err := s.store([]*Result{s.fail(b, dead.Reason)}); err != nil {
				return err
			}
		}
		m.Ack()
	}
	return nil
}

// bury publishes a message that was given up.
func (f *Fleet) bury(ctx context.Context, subject string, dead Dead) error {
	doc, err := json.Marshal(dead)
	if err != nil {
		return err
	}
	if _, err := f.js.Publish(ctx, deadSubject(subject), doc); err != nil {
		return fmt.Errorf("publish to %s: %w", deadStream, err)
	}
	return nil
}
