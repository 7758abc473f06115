package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Subjects outside the streams: what is lost there is not missed.
const (
	newsSubject  = "isobar.news"  // a sweep has begun
	drainSubject = "isobar.drain" // with the name of a worker
	pingSubject  = "isobar.ping"  // every worker answers with a Member
)

// A Runner runs one cell. *runner.Runner is one.
type Runner interface {
	Run(ctx context.Context, c cell.Cell) (cell.Record, map[string][]byte, error)
}

// A WorkerConfig says what a worker is and what it may do.
type WorkerConfig struct {
	// Name tells workers apart in reports; "" stands for one made of the
	// machine's digest and a number.
	Name    string
	Machine cell.Machine
	// Labels are the operator's own; cpu, cores, os, arch, kernel and machine (the
	// digest of its name) are added.
	Labels map[string]string
	// Allow lists the kinds of work: KindLab, KindExec. Empty for KindLab.
	Allow []string
	// Runner returns what runs cells in the given working directory.
	Runner func(dir string) Runner
	// Dir is where working directories and programs are kept.
	Dir string
	// Account owns working directories: it is what the Runner runs cells as.
	// nil for this process's.
	Account *Account
	// MaxTimeout and MaxMemoryBytes bound every cell, whatever it asks for; 0
	// for no bound.
	MaxTimeout     time.Duration
	MaxMemoryBytes int64
	// Log receives what the operator should know; nil discards it.
	Log func(format string, args ...any)

	// published is called between the publication of a result and its
	// acknowledgement, where tests end the worker.
	published func()
}

// A Worker takes blocks from a fleet and runs them, one at a time. NewWorker
// returns one; Run belongs to one goroutine, Drain may be called by any.
type Worker struct {
	fleet    *Fleet
	config   WorkerConfig
	inbox    *inbox        // of Run
	dir      string        // of Run: an empty directory for blocks; "" for none
	news     chan queue    // sweeps that have begun since the last look
	draining chan struct{} // closed by Drain
	drain    func()
	mu       sync.Mutex
	member   Member // guarded by mu
}

// A Member is what a worker tells about itself.
type Member struct {
	Name    string            `json:"name"`
	Machine cell.Machine      `json:"machine"`
	Labels  map[string]string `json:"labels"`
	Allow   []string          `json:"allow"`
	Since   time.Time         `json:"since"`
	// State is "idle", "running" or "draining".
	State string `json:"state"`
	// What it is running: cell Cell of block Block, Done of Cells finished.
	Sweep   string    `json:"sweep,omitempty"`
	Block   int       `json:"block"`
	Cell    string    `json:"cell,omitempty"`
	Done    int       `json:"done"`
	Cells   int       `json:"cells"`
	Started time.Time `json:"started,omitzero"` // of the block
	// Totals since Since. Retries are blocks that another worker, or this one,
	// had been given before; LostHeartbeats are heartbeats that found the
	// connection away.
	BlocksDone     int64 `json:"blocks_done"`
	CellsDone      int64 `json:"cells_done"`
	CellsFailed    int64 `json:"cells_failed"`
	Retries        int64 `json:"retries"`
	LostHeartbeats int64 `json:"lost_heartbeats"`
	Refused        int64 `json:"refused"`
	// Floor is by how much equal cells (a baseline and its twin) of the blocks
	// it ran differed, as a ratio of 1 or more: the median of the latest. 0
	// while it has run none.
	Floor  float64   `json:"noise_floor"`
	floors []float64 // the latest ratios, at most 64
}

func (m *Member) platform() string { return m.Machine.OS + "/" + m.Machine.Arch }

// NewWorker returns a worker of the fleet.
func NewWorker(f *Fleet, config WorkerConfig) (*Worker, error) {
	if config.Runner == nil {
		panic("fleet: NewWorker: no Runner")
	}
	if len(config.Allow) == 0 {
		config.Allow = []string{KindLab}
	}
	for _, kind := range config.Allow {
		if kind != KindLab && kind != KindExec {
			return nil, fmt.Errorf("fleet: worker: allow %q: want lab or exec", kind)
		}
	}
	if config.Name == "" {
		config.Name = config.Machine.Hostname + "-" + nuid.Next()[16:]
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
	if m.OS == "" {
		w.member.Machine.OS, w.member.Machine.Arch = runtime.GOOS, runtime.GOARCH
	}
	return w, nil
}

// Drain has Run return when the block that is running, if any, is finished.
func (w *Worker) Drain() {
	w.drain()
	w.update(func(m *Member) { m.State = "draining" })
}

// Member returns what the worker tells about itself.
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

// Run takes and runs blocks until Drain is called (nil), the connection is
// closed for good, or ctx ends, which gives the block that is running back.
func (w *Worker) Run(ctx context.Context) error {
	subscriptions, err := w.subscribe()
	if err != nil {
		return fmt.Errorf("fleet: worker: %w", err)
	}
	defer func() {
		for _, s := range subscriptions {
			s.Unsubscribe()
		}
	}()
	if w.inbox, err = newInbox(w.fleet); err != nil {
		return fmt.Errorf("fleet: worker: %w", err)
	}
	defer w.inbox.close()
	defer w.tidy(true)
	var queues []queue
	var look time.Time // when to look for queues
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
		case errors.As(err, &gone): // the sweep has ended; where not, the next look tells
			queues = slices.DeleteFunc(queues, func(q queue) bool { return q.Sweep == gone.sweep })
			look = time.Now().Add(rand.N(lookInterval / 3))
		case err != nil: // the servers are away
			look = time.Time{}
			queues = w.wait(ctx, queues, 20*time.Millisecond)
		case d != nil:
			w.handle(ctx, d)
		}
	}
}

// learn adds a queue to those of a worker, if it is fit for it.
func (w *Worker) learn(queues []queue, q queue) []queue {
	if self := w.Member(); q.Requires.unmet(&self) != "" ||
		slices.ContainsFunc(queues, func(have queue) bool { return have.Sweep == q.Sweep }) {
		return queues
	}
	return append(queues, q)
}

// crowdedInterval is how long, at least, a worker leaves a queue alone at which
// enough others wait, unless it is told of blocks; at most twice as long.
const crowdedInterval = time.Second

// lookInterval is how often, at least, a worker looks for sweeps that it was not
// told of; at most twice as often.
const lookInterval = 15 * time.Second

// wait waits for news, at most d, and returns the queues that are known then.
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

// subscribe listens for news and answers pings.
func (w *Worker) subscribe() ([]*nats.Subscription, error) {
	news, err := w.fleet.nc.Subscribe(newsSubject, func(m *nats.Msg) {
		var q queue
		if json.Unmarshal(m.Data, &q) != nil {
			return
		}
		select {
		case w.news <- q:
		default: // it will look
		}
	})
	if err != nil {
		return nil, err
	}
	pings, err := w.fleet.nc.Subscribe(pingSubject, func(m *nats.Msg) {
		if doc, err := json.Marshal(w.Member()); err == nil {
			m.Respond(doc)
		}
	})
	if err != nil {
		return nil, err
	}
	drains, err := w.fleet.nc.Subscribe(drainSubject, func(m *nats.Msg) {
		if string(m.Data) == w.config.Name {
			w.Drain()
			m.Respond(nil)
		}
	})
	return []*nats.Subscription{news, pings, drains}, err
}

// Drain tells the worker of that name to finish the block that it runs, and to
// leave.
func (f *Fleet) Drain(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := f.nc.RequestWithContext(ctx, drainSubject, []byte(name)); err != nil {
		return fmt.Errorf("fleet: drain: no worker %s answers: 'isobar fleet status' lists them (%w)", name, err)
	}
	return nil
}

// queues returns the queues of the sweeps that this worker is fit for.
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

// take takes one block: of the queue whose turn it is or else of the next that
// has one. Where none has, it waits a moment at the first. nil for none.
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
