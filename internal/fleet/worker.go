package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/runner"
)

// Subjects outside the streams, where losing a message does no harm.
const (
	newsSubject  = "isobar.news"  // a sweep has begun
	drainSubject = "isobar.drain" // the name of a worker that should leave
	pingSubject  = "isobar.ping"  // every worker answers with a Member
)

// A Runner runs one cell. *runner.Runner implements it.
type Runner interface {
	Run(ctx context.Context, c cell.Cell) (cell.Record, map[string][]byte, error)
}

// A WorkerConfig says who a worker is and what it may do.
type WorkerConfig struct {
	// Name identifies the worker in reports; "" means a name made from the machine's digest
	// and a random number.
	Name    string
	Machine cell.Machine
	// Labels are the operator's own; the worker adds cpu, cores, os, arch, kernel and
	// machine (the digest of the machine's name).
	Labels map[string]string
	// Allow lists the allowed kinds of work: KindLab, KindExec.
	Allow []string
	// Runner returns a runner for cells in the given working directory.
	Runner func(dir string) Runner
	// Dir holds working directories and programs.
	Dir string
	// Account owns the working directories; the Runner runs cells as this user. nil means
	// this process's user.
	Account *runner.Account
	// MaxTimeout and MaxMemoryBytes bound every cell, whatever it requests; 0 means no bound.
	MaxTimeout     time.Duration
	MaxMemoryBytes int64
	// Log receives messages for the operator; nil discards them.
	Log func(format string, args ...any)

	// published is called between the publication of a result and its
	// acknowledgement, so that tests can end the worker there.
	published func()
}

// A Worker takes blocks from a fleet and runs them, one at a time. Make one
// with NewWorker; it must not be copied. Run belongs to one goroutine; any
// goroutine may call Drain.
type Worker struct {
	fleet    *Fleet
	config   WorkerConfig
	inbox    *inbox        // of Run
	dir      string        // of Run: an empty directory for blocks; "" for none
	news     chan queue    // sweeps that have begun since the last check
	draining chan struct{} // closed by Drain
	drain    func()
	mu       sync.Mutex
	member   Member // guarded by mu
}

// A Member is a worker's description of itself.
type Member struct {
	Name    string            `json:"name"`
	Machine cell.Machine      `json:"machine"`
	Labels  map[string]string `json:"labels"`
	Allow   []string          `json:"allow"`
	Since   time.Time         `json:"since"`
	// State is "idle", "running" or "draining".
	State string `json:"state"`
	// The current work: Cell, of block Block; Done of Cells are finished.
	Sweep   string    `json:"sweep,omitempty"`
	Block   int       `json:"block"`
	Cell    string    `json:"cell,omitempty"`
	Done    int       `json:"done"`
	Cells   int       `json:"cells"`
	Started time.Time `json:"started,omitzero"` // of the block
	// Totals since Since. Retries counts blocks that had already been given to a worker;
	// LostHeartbeats counts heartbeats that failed.
	BlocksDone     int64 `json:"blocks_done"`
	CellsDone      int64 `json:"cells_done"`
	CellsFailed    int64 `json:"cells_failed"`
	Retries        int64 `json:"retries"`
	LostHeartbeats int64 `json:"lost_heartbeats"`
	Refused        int64 `json:"refused"`
	// Floor is the ratio, 1 or more, by which equal cells (a baseline and its twin) of this
	// worker's blocks differed: the median of the latest ratios. It is 0 before the first.
	Floor  float64   `json:"noise_floor"`
	floors []float64 // the latest ratios, at most 64
}

// Current returns the number of the running cell, from 1.
func (m *Member) Current() int { return min(m.Done+1, m.Cells) }

func (m *Member) platform() string { return m.Machine.OS + "/" + m.Machine.Arch }

// NewWorker returns a worker of the fleet.
func NewWorker(f *Fleet, config WorkerConfig) *Worker {
	if config.Name == "" {
		config.Name = fmt.Sprintf("%s-%06x", config.Machine.Hostname, rand.N(1<<24))
	}
	if config.Log == nil {
		config.Log = func(string, ...any) {}
	}
	m := config.Machine
	labels := map[string]string{"cpu": m.CPU, "cores": strconv.Itoa(m.CPUs), "os": m.OS, "arch": m.Arch,
		"kernel": m.Kernel, "machine": m.Hostname}
	maps.Copy(labels, config.Labels)
	w := &Worker{fleet: f, config: config, news: make(chan queue, 64), draining: make(chan struct{})}
	w.drain = sync.OnceFunc(func() { close(w.draining) })
	w.member = Member{Name: config.Name, Machine: m, Labels: labels, Allow: config.Allow, Since: time.Now(), State: "idle"}
	return w
}

// Drain makes Run return when the current block, if any, is finished.
func (w *Worker) Drain() {
	w.drain()
	w.update(func(m *Member) { m.State = "draining" })
}

// Member returns the worker's description of itself.
func (w *Worker) Member() Member {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.member
}

func (w *Worker) update(f func(*Member)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.member)
}

// Run takes and runs blocks until Drain is called (nil), the connection is closed permanently, the
// worker's directory fails, or ctx ends, which gives the current block back.
func (w *Worker) Run(ctx context.Context) error {
	subscriptions, err := w.subscribe()
	defer func() {
		for _, s := range subscriptions {
			s.Unsubscribe()
		}
	}()
	if err != nil {
		return fmt.Errorf("fleet: worker: %w", err)
	}
	if w.inbox, err = newInbox(w.fleet); err != nil {
		return fmt.Errorf("fleet: worker: %w", err)
	}
	defer w.inbox.close()
	defer w.tidy(true)
	var queues []queue
	var look time.Time // when to check for queues
	turn := 0
	for {
		select {
		case <-w.draining:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("fleet: worker: %w", context.Cause(ctx))
		case <-w.fleet.lost.Done():
			return fmt.Errorf("fleet: worker: the servers closed the connection: %w",
				errors.Join(w.fleet.nc.LastError(), nats.ErrConnectionClosed))
		case q := <-w.news:
			queues = w.learn(queues, q)
		default:
		}
		if time.Now().After(look) {
			if queues, err = w.queues(ctx); err != nil {
				queues = w.wait(ctx, nil, 200*time.Millisecond)
				continue
			}
			look = time.Now().Add(lookInterval + rand.N(lookInterval))
		}
		if len(queues) == 0 {
			queues = w.wait(ctx, nil, time.Until(look))
			continue
		}
		turn++
		d, err := w.take(ctx, queues, turn)
		var gone *goneError
		switch {
		case errors.Is(err, errCrowded):
			queues = w.wait(ctx, queues, crowdedInterval+rand.N(crowdedInterval))
		case errors.As(err, &gone): // the sweep has ended; if not, the next check finds it
			queues = slices.DeleteFunc(queues, func(q queue) bool { return q.Sweep == gone.sweep })
			look = time.Now().Add(rand.N(lookInterval / 3))
		case err != nil: // the servers are unreachable
			look = time.Time{}
			queues = w.wait(ctx, queues, 20*time.Millisecond)
		case d != nil:
			if err := w.handle(ctx, d); err != nil {
				return fmt.Errorf("fleet: worker: it cannot work here and leaves: %w", err)
			}
		}
	}
}

// learn adds a queue to the worker's queues, if the worker qualifies.
func (w *Worker) learn(queues []queue, q queue) []queue {
	if self := w.Member(); q.Requires.unmet(&self) != "" ||
		slices.ContainsFunc(queues, func(have queue) bool { return have.Sweep == q.Sweep }) {
		return queues
	}
	return append(queues, q)
}

// crowdedInterval is the minimum, and half the maximum, time for which a worker leaves a
// crowded queue alone, unless it hears of blocks.
const crowdedInterval = time.Second

// lookInterval is the minimum, and half the maximum, time between a worker's checks for
// sweeps that it was not told of.
const lookInterval = 15 * time.Second

// wait waits for news, at most d, and returns the queues known afterwards.
func (w *Worker) wait(ctx context.Context, queues []queue, d time.Duration) []queue {
	select {
	case <-ctx.Done():
	case <-w.draining:
	case <-w.fleet.lost.Done():
	case q := <-w.news:
		return w.learn(queues, q)
	case <-time.After(d):
	}
	return queues
}

// subscribe listens for news and answers pings. It returns the subscriptions even with
// an error.
func (w *Worker) subscribe() (all []*nats.Subscription, err error) {
	for subject, handle := range map[string]nats.MsgHandler{
		newsSubject: func(m *nats.Msg) {
			var q queue
			if json.Unmarshal(m.Data, &q) != nil {
				return
			}
			select {
			case w.news <- q:
			default: // the next check finds it
			}
		},
		pingSubject: func(m *nats.Msg) {
			if doc, err := json.Marshal(w.Member()); err == nil {
				m.Respond(doc)
			}
		},
		drainSubject: func(m *nats.Msg) {
			if string(m.Data) == w.config.Name {
				w.Drain()
				m.Respond(nil)
			}
		},
	} {
		s, err := w.fleet.nc.Subscribe(subject, handle)
		if err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Drain tells all workers of that name to finish their current block and leave, and returns
// their number.
func (f *Fleet) Drain(ctx context.Context, name string) (n int, err error) {
	inbox := nats.NewInbox()
	answers, err := f.nc.SubscribeSync(inbox)
	if err == nil {
		defer answers.Unsubscribe()
		err = f.nc.PublishRequest(drainSubject, inbox, []byte(name))
	}
	for wait := 5 * time.Second; err == nil; wait = 500 * time.Millisecond {
		next, cancel := context.WithTimeout(ctx, wait)
		_, err = answers.NextMsgWithContext(next)
		cancel()
		if err == nil {
			n++
		}
	}
	switch {
	case ctx.Err() != nil:
		return n, fmt.Errorf("fleet: drain: %w", ctx.Err())
	case n == 0:
		return 0, fmt.Errorf("fleet: drain: no worker %s answers: 'isobar fleet status' lists them (%w)", name, err)
	}
	return n, nil
}

// queues returns the queues of the sweeps that this worker qualifies for.
func (w *Worker) queues(ctx context.Context) ([]queue, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	self := w.Member()
	var queues []queue
	err := w.fleet.consumers(ctx, workStream, func(info *jetstream.ConsumerInfo) {
		r, err := parseRequirement(info.Config.Metadata)
		if err == nil && r.unmet(&self) == "" {
			queues = append(queues, queue{Sweep: info.Name, Requires: r, AckWait: info.Config.AckWait,
				MaxDeliver: info.Config.MaxDeliver})
		}
	})
	slices.SortFunc(queues, func(a, b queue) int { return strings.Compare(a.Sweep, b.Sweep) })
	return queues, err
}

// take takes one block, starting at the queue whose turn it is and trying the others in
// order. If none has a block, it waits briefly at the first. It returns nil for none.
func (w *Worker) take(ctx context.Context, queues []queue, turn int) (*delivery, error) {
	if len(queues) > 1 {
		for i := range queues {
			d, err := w.inbox.pull(ctx, queues, queues[(turn+i)%len(queues)], 0)
			if d != nil || err != nil {
				return d, err
			}
		}
	}
	wait := max(2*time.Second/time.Duration(len(queues)), 100*time.Millisecond)
	return w.inbox.pull(ctx, queues, queues[turn%len(queues)], wait)
}
