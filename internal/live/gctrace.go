package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/gc/trace"
	"github.com/isobar-go/isobar/monitor"
)

// traceFigures are the figures in gctrace lines. The runtime rounds sizes down
// to MiB.
var traceFigures = []monitor.Figure{
	{Key: "/heap/objects:bytes", Help: "Largest heap at the end of marking since the last sample.", Chart: "Heap"},
	{Key: "/heap/live:bytes", Help: "Objects marked by the last collection.", Chart: "Heap"},
	{Key: "/heap/goal:bytes", Help: "Heap size at which the collection should have ended.", Chart: "Heap"},
	{Key: "/memory/stacks:bytes", Help: "Scanned stacks.", Chart: "Memory of the process"},
	{Key: "/gc/pause/max:seconds", Help: "Longest stop-the-world pause for a collection since the last sample.",
		Chart: "GC pauses"},
	{Key: "/gc/cpu/assist:cpu-seconds", Help: "Mark assist: goroutines that must help while they allocate.", Counter: true,
		Chart: "CPU time of the collector"},
	{Key: "/gc/cpu/dedicated:cpu-seconds", Help: "Mark workers with a CPU, or part of one, to themselves.",
		Counter: true, Chart: "CPU time of the collector"},
	{Key: "/gc/cpu/idle:cpu-seconds", Help: "Mark workers on CPUs that had nothing else to do.", Counter: true,
		Chart: "CPU time of the collector"},
	{Key: "/gc/cpu/pause:cpu-seconds", Help: "Pauses, counted on every CPU.", Counter: true,
		Chart: "CPU time of the collector"},
	{Key: "/alloc/size:bytes", Help: "Bytes allocated, from the sizes of the heap.", Counter: true, Chart: "Allocation"},
	{Key: "/gc/cycles:gc-cycles", Help: "Collections.", Counter: true, Chart: "Collections"},
	{Key: "/gc/cycles-forced:gc-cycles", Help: "Collections forced by the program.", Counter: true,
		Chart: "Collections"},
}

// A traceFeed turns gctrace lines into samples: one for all collections of an interval of
// the program's clock.
type traceFeed struct {
	name   string
	config Config
	in     io.Closer   // closed by Close to end a blocked read; nil for none
	events chan func() // events of the stream, executed by the goroutine that calls Next
	stop   context.CancelFunc

	// The fields below belong to the goroutine that calls Next.
	stream   int // the process shown: the latest one started
	others   int // collections of earlier processes
	epoch    int
	base     time.Time     // of the process's clock
	emitted  time.Duration // program time up to which samples were emitted
	latest   time.Duration // of the newest collection in the next sample
	sums     [12]float64   // the next sample
	live     int64         // of the previous cycle
	pending  bool
	caughtUp bool
	backlog  []Sample // samples before catching up
	ready    []Sample
	ended    error // of the stream
	result   trace.Trace
}

// maxBacklog is the number of past samples to keep: as many as the page shows.
const maxBacklog = 600

func newTraceFeed(name string, r io.Reader, c Config) *traceFeed {
	ctx, stop := context.WithCancel(context.Background())
	f := &traceFeed{name: name, config: c, events: make(chan func(), 64), stop: stop, epoch: 1, caughtUp: true}
	if t, ok := r.(*tail); ok {
		f.caughtUp = false
		t.ctx = ctx
		t.caught = func(at time.Time) { f.send(ctx, func() { f.caught(at) }) }
	}
	own := c.Own
	if own == nil {
		own = io.Discard
	}
	go func() {
		result, err := trace.Follow(r, own, func(c trace.Cycle) { f.send(ctx, func() { f.cycle(c) }) })
		if t, ok := r.(*tail); ok {
			t.release()
		}
		f.send(ctx, func() { f.end(result, err) })
	}()
	return f
}

func (f *traceFeed) send(ctx context.Context, e func()) {
	select {
	case f.events <- e:
	case <-ctx.Done():
	}
}

func (f *traceFeed) Next(ctx context.Context) (Sample, error) {
	timer := time.NewTimer(f.config.Interval)
	defer timer.Stop()
	for len(f.ready) == 0 {
		if f.ended != nil {
			return Sample{}, f.ended
		}
		select {
		case e := <-f.events:
			e()
		case <-timer.C: // the program pauses: show what has arrived
			timer.Reset(f.config.Interval)
			if f.caughtUp && f.pending {
				f.emit()
			}
		case <-ctx.Done():
			return Sample{}, ctx.Err()
		}
	}
	s := f.ready[0]
	f.ready = f.ready[1:]
	return s, nil
}

// end handles the end of the stream, with or without an error.
func (f *traceFeed) end(result trace.Trace, err error) {
	if f.pending {
		f.emit()
	}
	f.catchUp(time.Now())
	f.result = result
	switch {
	case err != nil:
		f.ended = fmt.Errorf("watch: %s: %w", f.name, err)
	case result.Streams == 0:
		f.ended = fmt.Errorf("watch: %s: no gctrace line in it; start the program with GODEBUG=gctrace=1 and give its "+
			"standard error here, as in: GODEBUG=gctrace=1 PROGRAM 2>&1 | isobar watch -", f.name)
	default:
		f.ended = io.EOF
	}
}

// caught handles the point where all available input has been read; the input last changed at changed.
func (f *traceFeed) caught(changed time.Time) {
	if !f.caughtUp && f.pending {
		f.emit()
	}
	f.catchUp(changed)
}

// catchUp emits the past samples, shifted so that the last one is as old as the file.
func (f *traceFeed) catchUp(at time.Time) {
	if f.caughtUp {
		return
	}
	f.caughtUp = true
	if len(f.backlog) == 0 {
		return
	}
	shift := at.Sub(f.backlog[len(f.backlog)-1].At)
	for i := range f.backlog {
		f.backlog[i].At = f.backlog[i].At.Add(shift)
		f.backlog[i].Past = i < len(f.backlog)-1
	}
	f.base = f.base.Add(shift)
	f.ready, f.backlog = append(f.ready, f.backlog...), nil
}

// cycle adds a collection to the next sample. If that sample already covers an
// interval of the program's time, cycle emits it first.
func (f *traceFeed) cycle(c trace.Cycle) {
	switch {
	case c.Stream < f.stream:
		f.others++
		return
	case c.Stream > f.stream:
		if f.pending {
			f.emit()
		}
		f.stream, f.epoch, f.base, f.live = c.Stream, f.epoch+1, time.Time{}, 0
		clear(f.sums[:])
	}
	at := time.Duration(c.AtNs)
	if f.base.IsZero() {
		f.base, f.emitted = time.Now().Add(-at), at
		clear(f.sums[:])
	} else if f.pending && at-f.emitted >= f.config.Interval {
		f.emit()
	}
	s := &f.sums
	if !f.pending {
		s[0], s[4] = 0, 0
	}
	f.pending = true
	s[0] = max(s[0], float64(c.EndBytes))
	s[1], s[2], s[3] = float64(c.LiveBytes), float64(c.GoalBytes), float64(c.StackBytes)
	if c.GoalBytes >= noGoal {
		s[2] = math.NaN()
	}
	s[4] = max(s[4], time.Duration(max(c.SweepNs, c.TerminationNs)).Seconds())
	for i, ns := range []int64{c.AssistNs, c.DedicatedNs, c.IdleNs, c.PauseCPUNs()} {
		s[5+i] += time.Duration(ns).Seconds()
	}
	s[9] += float64(max(c.EndBytes-f.live, 0)) // marking also found objects allocated during it
	f.live = c.LiveBytes
	s[10] = float64(c.N)
	if c.Forced {
		s[11]++
	}
	f.latest = at
}

func (f *traceFeed) emit() {
	s := Sample{
		At: f.base.Add(f.latest), Process: monitor.Process{Program: f.name}, Figures: traceFigures,
		Values: slices.Clone(f.sums[:]), Epoch: f.epoch,
	}
	f.emitted, f.pending = f.latest, false
	if f.caughtUp {
		f.ready = append(f.ready, s)
		return
	}
	if f.backlog = append(f.backlog, s); len(f.backlog) > maxBacklog {
		f.backlog = f.backlog[1:]
	}
}

func (f *traceFeed) Source() string { return "gctrace lines of " + f.name }

func (f *traceFeed) Notes() []string {
	notes := []string{"gctrace lines describe the heap at collections only, in whole MiB"}
	if f.others > 0 {
		notes = append(notes, fmt.Sprintf("left out %d collections of earlier processes", f.others))
	}
	if f.result.Gaps > 0 {
		notes = append(notes, fmt.Sprintf("%d gaps in the line numbers: some lines were lost among the program's own output",
			f.result.Gaps))
	}
	return notes
}

func (f *traceFeed) Close() error {
	f.stop()
	if f.in != nil {
		return f.in.Close()
	}
	return nil
}

// openFile follows a file from its beginning.
func openFile(name string, c Config) (Feed, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	info, err := file.Stat()
	regular := err != nil || info.Mode().IsRegular()
	if regular {
		c.Own = nil // the file has the program's own lines
	}
	if !regular || c.Once {
		f := newTraceFeed(name, file, c)
		f.in = file
		f.caughtUp = !regular // else all of it is in the past
		return f, nil
	}
	return newTraceFeed(name, &tail{name: name, file: file}, c), nil
}

// A tail reads a growing file. When the file is replaced or truncated, it
// continues with the new one.
type tail struct {
	name   string
	file   *os.File
	offset int64
	next   *os.File // has replaced file, which may have grown before that; nil if none has
	ctx    context.Context
	caught func(changed time.Time) // called when all available input has been read
	told   bool
}

// tailPoll is how often a tail checks for more.
const tailPoll = 200 * time.Millisecond

func (t *tail) Read(b []byte) (int, error) {
	for {
		n, err := t.file.Read(b)
		t.offset += int64(n)
		if n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if t.next != nil {
			t.file.Close()
			t.file, t.offset, t.next = t.next, 0, nil
			continue
		}
		if !t.told {
			t.told = true
			changed := time.Now()
			if info, err := t.file.Stat(); err == nil {
				changed = info.ModTime()
			}
			t.caught(changed)
		}
		if !await(t.ctx, tailPoll) {
			return 0, io.EOF
		}
		if err := t.follow(); err != nil {
			return 0, err
		}
	}
}

// follow starts over if the file has become shorter, or has been replaced.
func (t *tail) follow() error {
	here, err := t.file.Stat()
	if err != nil {
		return err
	}
	if here.Size() < t.offset {
		t.offset = 0
		_, err := t.file.Seek(0, io.SeekStart)
		return err
	}
	there, err := os.Stat(t.name)
	if err != nil || os.SameFile(here, there) {
		return nil // the name may reappear
	}
	if next, err := os.Open(t.name); err == nil {
		t.next = next
	}
	return nil
}

// release closes t's files, once the reading goroutine has ended with the feed.
func (t *tail) release() {
	t.file.Close()
	if t.next != nil {
		t.next.Close()
	}
}
