package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// more reports whether there is a block to publish and room for it.
func (s *sweep) more() bool { return s.sent < s.Ahead && len(s.order) > 0 }

// publish publishes blocks in plan order, up to the limit of blocks ahead, and tells the
// workers if it published more blocks than were already out.
func (s *sweep) publish(ctx context.Context) error {
	batch := s.order[:min(len(s.order), max(s.Ahead-s.sent, 0), publishBatch)]
	futures := make([]jetstream.PubAckFuture, len(batch))
	for i, b := range batch {
		doc, err := s.document(b)
		if err != nil {
			return err
		}
		message := &nats.Msg{Subject: workSubject(s.ID, b.number), Data: doc}
		if futures[i], err = s.fleet.js.PublishMsgAsync(message, jetstream.WithMsgID(rand.Text())); err != nil {
			return fmt.Errorf("publish block %d: %w", b.number, err)
		}
	}
	for i, future := range futures {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			if !alreadyThere(err) {
				return fmt.Errorf("publish block %d: %w", batch[i].number, err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		s.order = s.order[1:]
		s.markSent(batch[i])
		s.fresh++
	}
	if !s.silent && (s.more() || s.fresh <= max(s.sent-s.fresh, maxWaiting/2)) {
		return nil // workers waiting at the queue take the new ones
	}
	s.silent, s.fresh = false, 0
	return s.announce()
}

func (s *sweep) markSent(b *block) {
	if !b.sent {
		b.sent = true
		s.sent++
	}
}

// alreadyThere reports whether a stream refused a second message for a block.
func alreadyThere(err error) bool {
	return err != nil && strings.Contains(err.Error(), "maximum messages per subject exceeded")
}

// announce tells the workers that there are blocks.
func (s *sweep) announce() error {
	news, err := json.Marshal(queue{Sweep: s.ID, Requires: s.Requires, AckWait: s.AckWait, MaxDeliver: s.Attempts})
	if err != nil {
		return err
	}
	return s.fleet.nc.Publish(newsSubject, news)
}

// withdraw removes the sweep's messages that nobody needs from the streams. Results stay: a
// sweep with the same ID takes them over.
func (s *sweep) withdraw() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.fleet.remove(ctx, s.ID, len(s.pending) == 0)
}

// remove removes a sweep's work and, if results is set, its results, as far as the servers answer.
func (f *Fleet) remove(ctx context.Context, id string, results bool) {
	f.purge(ctx, workStream, sweepSubjects("work", id))
	f.js.DeleteConsumer(ctx, workStream, id)
	if results {
		f.purge(ctx, resultStream, sweepSubjects("result", id))
		f.js.DeleteConsumer(ctx, resultStream, id)
		f.js.DeleteConsumer(ctx, deadStream, id)
	}
}

// purge removes the messages of some subjects from a stream.
func (f *Fleet) purge(ctx context.Context, stream, subjects string) error {
	st, err := f.js.Stream(ctx, stream)
	if err == nil {
		err = st.Purge(ctx, jetstream.WithPurgeSubject(subjects))
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", stream, err)
	}
	return nil
}
