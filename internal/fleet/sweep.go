package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// A SweepConfig is a plan, or the remaining part of one, for a fleet to run.
type SweepConfig struct {
	// ID names the sweep. A coordinator that resumes a sweep uses the same ID; no other
	// sweep may. It consists of letters, digits, - and _.
	ID       string
	Cells    []cell.Cell // those without a record, in plan order, whole blocks
	Requires Requirement
	Programs map[string]Program
	// AckWait is how long a worker may be silent before its block goes to another; 0 means
	// 30 s. Workers send heartbeats at a third of this interval.
	AckWait time.Duration
	// Attempts is the maximum number of times that a block is given to a worker; 0 means 10.
	Attempts int
	// Ahead bounds the blocks that are published but not stored; 0 means 16,384.
	// It should exceed the number of workers.
	Ahead int
	// Store must store the results of whole blocks before it returns. Each block may
	// already be stored. An error ends the sweep.
	Store func(results []*Result) error
	// Warn receives messages for the user; nil discards them.
	Warn func(format string, args ...any)
}

const (
	// fetchBatch is how many results are stored at once.
	fetchBatch = 64
	// publishBatch is how many blocks are published at once.
	publishBatch = 256
)

// sweep is the state of one call of Sweep.
type sweep struct {
	SweepConfig
	fleet   *Fleet
	pending map[int]*block // by number; deleted when stored
	order   []*block       // never published, in plan order
	sent    int            // pending blocks that are published
	fresh   int            // blocks published since workers were last told
	silent  bool           // workers have not been told since it began
	results jetstream.MessagesContext
	dead    jetstream.Consumer
	lastAt  time.Time // of the last result, or of the beginning
	deadAt  time.Time // of the last check for dead messages
	fitAt   time.Time // of the next check that a worker qualifies
	warned  string    // the last error reported

	unstored error // of Store, which ends the sweep
}

type block struct {
	number int
	cells  []cell.Cell
	sent   bool
	bad    int // malformed results
	stuck  int // consecutive checks at which nobody could get the block
}

// Sweep runs the cells on the fleet and returns when all their records are stored. Servers and
// workers may come and go meanwhile. When ctx ends, Sweep withdraws the blocks that no worker
// has begun; a later sweep with the same ID takes over results that arrive until then. The
// error is that of ctx or of Store, or says that the servers closed the connection permanently.
func (f *Fleet) Sweep(ctx context.Context, config SweepConfig) error {
	s, err := newSweep(f, config)
	if err != nil {
		return err
	}
	defer s.stop()
	for len(s.pending) > 0 {
		err := s.step(ctx)
		switch {
		case ctx.Err() != nil:
			s.withdraw()
			return fmt.Errorf("fleet: sweep: %w", context.Cause(ctx))
		case f.lost.Err() != nil:
			return fmt.Errorf("fleet: sweep: the servers closed the connection: %w", f.nc.LastError())
		case s.unstored != nil:
			return s.unstored
		case err != nil:
			if err.Error() != s.warned { // the servers may be away: warn once
				s.warned = err.Error()
				s.Warn("the fleet does not answer: %v; trying again", err)
			}
			s.stop()
			pause(ctx, 200*time.Millisecond)
		}
	}
	s.withdraw()
	return nil
}

// stop stops receiving results; the next step starts again.
func (s *sweep) stop() {
	if s.results != nil {
		s.results.Stop()
		s.results = nil
	}
}

func newSweep(f *Fleet, config SweepConfig) (*sweep, error) {
	s := &sweep{SweepConfig: config, fleet: f, pending: map[int]*block{}, fitAt: time.Now().Add(2 * time.Second)}
	if s.ID == "" || strings.Trim(s.ID, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		return nil, fmt.Errorf("fleet: sweep: ID %q: want letters, digits, - and _", s.ID)
	}
	s.AckWait, s.Attempts, s.Ahead = cmp.Or(s.AckWait, 30*time.Second), cmp.Or(s.Attempts, 10), cmp.Or(s.Ahead, 16384)
	if s.Warn == nil {
		s.Warn = func(string, ...any) {}
	}
	for _, c := range s.Cells {
		b := s.pending[c.Block]
		if b == nil {
			b = &block{number: c.Block}
			s.pending[c.Block] = b
			s.order = append(s.order, b)
		}
		b.cells = append(b.cells, c)
	}
	for _, b := range s.order {
		doc, err := s.document(b)
		if err != nil {
			return nil, err
		}
		if len(doc) > min(maxMessage, int(f.nc.MaxPayload()))-4096 {
			return nil, fmt.Errorf("fleet: sweep: block %d has %d cells, %d bytes: more than this server accepts in a message: "+
				"give fewer levels, or a larger max_payload", b.number, len(b.cells), len(doc))
		}
	}
	return s, nil
}

func (s *sweep) document(b *block) ([]byte, error) {
	return json.Marshal(Job{Sweep: s.ID, Block: b.number, Cells: b.cells, Programs: s.Programs})
}

// step processes what has arrived and publishes blocks up to the limit.
func (s *sweep) step(ctx context.Context) error {
	if s.results == nil {
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	if err := s.publish(ctx); err != nil {
		return err
	}
	n, err := s.collect(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	if n > 0 {
		s.lastAt, s.warned = now, ""
	}
	if now.Sub(s.deadAt) > time.Second {
		s.deadAt = now
		if err := s.collectDead(); err != nil {
			return err
		}
	}
	if now.Sub(s.lastAt) > s.AckWait {
		// Blocks, the consumer of results, or the request to it may be lost: the servers
		// report none of these. The next step begins again.
		s.stop()
		return nil
	}
	if n == 0 && now.After(s.fitAt) {
		s.fitAt = now.Add(time.Minute)
		return s.checkFit(ctx)
	}
	return nil
}

// checkFit warns if no worker qualifies for the sweep.
func (s *sweep) checkFit(ctx context.Context) error {
	members, err := s.fleet.Members(ctx, 500*time.Millisecond)
	if err != nil {
		return err
	}
	if reason := unfit(s.Requires, members); reason != "" {
		s.Warn("no worker of the fleet can run this now; waiting: %s", reason)
	}
	return nil
}

// begin creates the sweep's missing consumers and reads the sweep's state from the streams.
func (s *sweep) begin(ctx context.Context) error {
	if err := s.fleet.ensure(ctx); err != nil {
		return err
	}
	js := s.fleet.js
	if _, err := js.CreateOrUpdateConsumer(ctx, workStream, jetstream.ConsumerConfig{
		Durable: s.ID, FilterSubject: sweepSubjects("work", s.ID), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: s.AckWait, MaxDeliver: s.Attempts,
		MaxAckPending: -1, MaxWaiting: maxWaiting, Metadata: s.Requires.metadata(),
	}); err != nil {
		return fmt.Errorf("consumer of work: %w", err)
	}
	// Results that the previous coordinator fetched but did not store must arrive at once.
	if err := js.DeleteConsumer(ctx, resultStream, s.ID); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("consumer of results: %w", err)
	}
	results, err := js.CreateOrUpdateConsumer(ctx, resultStream, jetstream.ConsumerConfig{
		Durable: s.ID, FilterSubject: sweepSubjects("result", s.ID), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait:       time.Minute,
		MaxAckPending: 4 * fetchBatch, InactiveThreshold: resultAge,
	})
	if err != nil {
		return fmt.Errorf("consumer of results: %w", err)
	}
	if s.dead, err = js.CreateOrUpdateConsumer(ctx, deadStream, jetstream.ConsumerConfig{
		Durable: s.ID, FilterSubject: sweepSubjects("dead", s.ID), AckPolicy: jetstream.AckExplicitPolicy,
		InactiveThreshold: resultAge,
	}); err != nil {
		return fmt.Errorf("consumer of dead messages: %w", err)
	}
	if err := s.reconcile(ctx); err != nil {
		return err
	}
	if s.results, err = results.Messages(jetstream.PullMaxMessages(2 * fetchBatch)); err != nil {
		return fmt.Errorf("consumer of results: %w", err)
	}
	s.silent = true
	return nil
}

// collect stores the results that have arrived, waiting briefly for the first, and returns their number.
func (s *sweep) collect(ctx context.Context) (int, error) {
	messages, err := s.fetch()
	if err != nil {
		return 0, fmt.Errorf("fetch results: %w", err)
	}
	var results []*Result
	done := messages[:0]
	for _, m := range messages {
		r, err := s.open(ctx, m)
		if err != nil { // it stays in the stream
			s.Warn("cannot read a result now: %v", err)
			continue
		}
		if r != nil {
			results = append(results, r)
		}
		done = append(done, m)
	}
	if err := s.store(results); err != nil {
		return 0, err
	}
	for _, m := range done {
		m.Ack()
		s.fleet.removeObject(m)
	}
	return len(done), ctx.Err()
}

// fetch waits briefly for one result, unless there is something to publish, and takes all
// others that have arrived.
func (s *sweep) fetch() ([]jetstream.Msg, error) {
	var messages []jetstream.Msg
	const tick = 50 * time.Microsecond
	wait := min(time.Second, s.AckWait)
	if s.more() {
		wait = tick
	}
	for len(messages) < fetchBatch {
		m, err := s.results.Next(jetstream.NextMaxWait(wait))
		if errors.Is(err, nats.ErrTimeout) {
			break
		}
		if err != nil {
			if len(messages) > 0 {
				break
			}
			return nil, err
		}
		messages = append(messages, m)
		wait = tick
	}
	return messages, nil
}

// store stores results and removes their blocks from the pending ones.
func (s *sweep) store(results []*Result) error {
	if len(results) == 0 {
		return nil
	}
	if s.unstored = s.Store(results); s.unstored != nil {
		return s.unstored
	}
	for _, r := range results {
		b := s.pending[r.Block]
		if b == nil {
			continue
		}
		delete(s.pending, r.Block)
		if b.sent {
			s.sent--
		} else if i := slices.Index(s.order, b); i >= 0 {
			s.order = slices.Delete(s.order, i, i+1)
		}
	}
	return nil
}

// open decodes a result. It returns nil for a useless one: its block is already stored, or
// it is malformed, in which case the block runs again. It returns an error for one that is
// unavailable for now.
func (s *sweep) open(ctx context.Context, m jetstream.Msg) (*Result, error) {
	_, number, bad := subjectBlock(m.Subject())
	b := s.pending[number]
	if bad == nil && b == nil {
		return nil, nil
	}
	if bad == nil {
		data, err := s.fleet.resultData(ctx, m)
		if err != nil && !errors.Is(err, errBadObject) {
			return nil, err
		}
		if bad = err; bad == nil {
			var r *Result
			if r, bad = decodeResult(s.ID, b.cells, data); bad == nil {
				return r, nil
			}
		}
	}
	s.Warn("gave up a result of block %d: %v", number, bad)
	if err := s.fleet.bury(ctx, m.Subject(), Dead{Reason: bad.Error(), Message: sample(m.Data())}); err != nil {
		return nil, err
	}
	if b != nil {
		if b.bad++; b.bad >= s.Attempts {
			return s.fail(b, fmt.Sprintf("%d results were given up, the last one: %v", b.bad, bad)), nil
		}
	}
	return nil, nil
}

// fail makes failed records for a block that no worker completes.
func (s *sweep) fail(b *block, reason string) *Result {
	r := &Result{Sweep: s.ID, Block: b.number}
	for _, c := range b.cells {
		r.Records = append(r.Records, cell.Record{Cell: c, Started: time.Now(),
			Err: &cell.Failure{Kind: cell.FailFleet, Message: reason}})
	}
	return r
}

func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
