package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/isobar-go/isobar/internal/cell"
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
	// Labels are the operator's own; cpu, cores, os, arch and kernel are added.
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
	news     chan struct{} // holds one if a sweep has begun since the last look
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
	labels := map[string]string{"cpu": m.CPU, "cores": strconv.Itoa(m.CPUs), "os": m.OS, "arch": m.Arch, "kernel": m.Kernel}
	maps.Copy(labels, config.Labels)
	w := &Worker{fleet: f, config: config, news: make(chan struct{}, 1), draining: make(chan struct{})}
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
	var queues []jetstream.Consumer
	var looked time.Time
	turn := 0
	for {
		select {
		case <-w.draining:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("fleet: worker: %w", context.Cause(ctx))
		case <-w.fleet.lost.Done():
			return fmt.Errorf("fleet: worker: the servers closed the connection: %w", errors.Join(w.fleet.nc.LastError(), nats.ErrConnectionClosed))
		case <-w.news:
			looked = time.Time{}
		default:
		}
		if len(queues) == 0 || time.Since(looked) > lookInterval {
			if queues, err = w.queues(ctx); err != nil {
				w.wait(ctx, 200*time.Millisecond)
				continue
			}
			looked = time.Now()
		}
		if len(queues) == 0 {
			w.wait(ctx, lookInterval)
			looked = time.Time{}
			continue
		}
		turn++
		m, err := w.take(ctx, queues, turn)
		if err != nil {
			queues = nil // its sweep ended, or the servers are away
			w.wait(ctx, 20*time.Millisecond)
		}
		if m != nil {
			w.handle(ctx, m)
		}
	}
}

// lookInterval is how often a worker looks for sweeps that it was not told of.
const lookInterval = 15 * time.Second

// wait waits for news, at most d.
func (w *Worker) wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-w.draining:
	case <-w.fleet.lost.Done():
	case <-w.news:
	case <-time.After(d):
	}
}

// subscribe listens for news and answers pings.
func (w *Worker) subscribe() ([]*nats.Subscription, error) {
	news, err := w.fleet.nc.Subscribe(newsSubject, func(*nats.Msg) {
		select {
		case w.news <- struct{}{}:
		default:
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

// queues returns the consumers of the sweeps that this worker is fit for.
func (w *Worker) queues(ctx context.Context) ([]jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	stream, err := w.fleet.js.Stream(ctx, workStream)
	if err != nil {
		return nil, err
	}
	self := w.Member()
	var names []string
	list := stream.ListConsumers(ctx)
	for info := range list.Info() {
		r, err := parseRequirement(info.Config.Metadata)
		if err == nil && r.unmet(&self) == "" {
			names = append(names, info.Name)
		}
	}
	if err := list.Err(); err != nil {
		return nil, err
	}
	slices.Sort(names)
	queues := make([]jetstream.Consumer, 0, len(names))
	for _, name := range names {
		queue, err := stream.Consumer(ctx, name)
		if err != nil {
			return nil, err
		}
		queues = append(queues, queue)
	}
	return queues, nil
}

// take takes one block: of the queue whose turn it is or else of the next that
// has one. Where none has, it waits a moment at the first. nil for none.
func (w *Worker) take(ctx context.Context, queues []jetstream.Consumer, turn int) (jetstream.Msg, error) {
	if len(queues) > 1 {
		for i := range queues {
			batch, err := queues[(turn+i)%len(queues)].FetchNoWait(1)
			if err != nil {
				return nil, err
			}
			if messages, err := drain(batch); len(messages) > 0 || err != nil {
				return first(messages), err
			}
		}
	}
	wait := max(2*time.Second/time.Duration(len(queues)), 100*time.Millisecond)
	batch, err := queues[turn%len(queues)].Fetch(1, jetstream.FetchMaxWait(wait))
	if err != nil {
		return nil, err
	}
	messages, err := drain(batch)
	return first(messages), err
}

func first(messages []jetstream.Msg) jetstream.Msg {
	if len(messages) == 0 {
		return nil
	}
	return messages[0]
}
