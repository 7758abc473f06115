package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// A refusal is an error of a block that no worker like this one can ever run.
type refusal struct{ error }

// An ownError is one of this worker's directory, which no block is to blame for.
type ownError struct{ error }

// handle runs a block to its end: it publishes a result and acknowledges the
// block, refuses the block, or gives it back. An error means that the worker must leave:
// it would take blocks faster than the others and would use up all their attempts.
func (w *Worker) handle(ctx context.Context, d *delivery) error {
	if d.number > 1 {
		w.update(func(m *Member) { m.Retries++ })
		if w.hasResult(ctx, d.Subject) { // its worker died before it could acknowledge
			d.ack(ctx)
			return nil
		}
	}
	stop := w.heartbeat(ctx, d)
	err := w.run(ctx, d)
	stop()
	var refused refusal
	var mine ownError
	var leave error
	switch {
	case err == nil:
		w.update(func(m *Member) { m.BlocksDone++ })
		return nil
	case errors.As(err, &refused):
	case ctx.Err() != nil || w.fleet.lost.Err() != nil:
		d.giveBack(0)
		return nil
	default:
		w.config.Log("block %s (delivery %d) not run: %v", d.Subject, d.number, err)
		if errors.As(err, &mine) {
			leave = mine
		}
		if d.queue.MaxDeliver < 1 || d.number < d.queue.MaxDeliver {
			d.giveBack(time.Second)
			return leave
		}
	}
	w.config.Log("gave up block %s: %v", d.Subject, err)
	w.update(func(m *Member) { m.Refused++ })
	dead := Dead{Reason: err.Error(), Worker: w.config.Name, Deliveries: d.number, Message: sample(d.Data)}
	if err := w.fleet.bury(ctx, d.Subject, dead); err != nil {
		w.config.Log("%v", err)
		d.giveBack(time.Second)
		return leave
	}
	d.Term()
	return leave
}

// hasResult reports whether a result of the block awaits storing.
func (w *Worker) hasResult(ctx context.Context, subject string) bool {
	stream, err := w.fleet.js.Stream(ctx, resultStream)
	if err != nil {
		return false
	}
	_, err = stream.GetLastMsgForSubject(ctx, strings.Replace(subject, "isobar.work.", "isobar.result.", 1))
	return err == nil
}

// heartbeat tells the server that the block is running, until stop is called.
func (w *Worker) heartbeat(ctx context.Context, d *delivery) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(max(d.queue.AckWait/3, 20*time.Millisecond))
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if !w.fleet.nc.IsConnected() || d.beat() != nil {
					w.update(func(m *Member) { m.LostHeartbeats++ })
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// run runs the cells of a block in order and publishes the result.
func (w *Worker) run(ctx context.Context, d *delivery) error {
	job, err := decodeJob(d.Subject, d.Data)
	if err == nil {
		err = w.check(&job)
	}
	if err != nil {
		return refusal{err}
	}
	dir, err := w.workDir()
	if err != nil {
		return ownError{err}
	}
	defer w.tidy(len(job.Programs) > 0)
	program, err := w.program(ctx, &job, dir)
	if err != nil {
		return err
	}
	w.update(func(m *Member) {
		m.State, m.Sweep, m.Block, m.Done, m.Cells, m.Started = stateOf(m.State, "running"), job.Sweep, job.Block, 0,
			len(job.Cells), time.Now()
	})
	defer w.update(func(m *Member) { m.State, m.Sweep, m.Cell, m.Started = stateOf(m.State, "idle"), "", "", time.Time{} })
	origin := &cell.Origin{Machine: w.config.Machine, Worker: w.config.Name, Attempt: rand.Text()}
	result := &Result{Sweep: job.Sweep, Block: job.Block, Origin: origin}
	runner, kept := w.config.Runner(dir), false
	for _, c := range job.Cells {
		w.update(func(m *Member) { m.Cell = c.Key() })
		rec, profiles, err := runner.Run(ctx, w.limit(c, program))
		if err != nil {
			return err
		}
		rec.Cell = c
		result.Records, result.Profiles = append(result.Records, rec), append(result.Profiles, profiles)
		kept = kept || len(profiles) > 0
		w.update(func(m *Member) {
			m.Done++
			m.CellsDone++
			if rec.Err != nil {
				m.CellsFailed++
			}
		})
	}
	if !kept {
		result.Profiles = nil
	}
	w.noteFloor(result)
	return w.deliver(ctx, d, result, origin.Attempt)
}

// stateOf keeps a draining worker draining.
func stateOf(now, next string) string {
	if now == "draining" {
		return now
	}
	return next
}

// deliver publishes the result until a server has it, then acknowledges the block. If there
// already is a result, this one is not needed.
func (w *Worker) deliver(ctx context.Context, d *delivery, result *Result, attempt string) error {
	data, err := result.encode()
	if err != nil {
		return refusal{fmt.Errorf("encode the result: %w", err)}
	}
	message := &nats.Msg{Subject: resultSubject(result.Sweep, result.Block), Data: data, Header: nats.Header{}}
	if len(data) > min(inlineBytes, int(w.fleet.nc.MaxPayload())/2) {
		if len(data) > maxObject {
			return refusal{fmt.Errorf("oversized: a result of %d bytes, at most %d", len(data), maxObject)}
		}
		message.Header.Set(objectHeader, attempt)
		message.Data = nil
	}
	for try := 0; ; try++ {
		err := w.publish(ctx, message, data, attempt)
		if err == nil || alreadyThere(err) {
			break
		}
		if ctx.Err() != nil || w.fleet.lost.Err() != nil {
			return err
		}
		if try%100 == 0 {
			w.config.Log("block %d of %s is finished and waits for the servers: %v", result.Block, result.Sweep, err)
		}
		pause(ctx, 300*time.Millisecond)
	}
	if w.config.published != nil {
		w.config.published()
	}
	if err := d.ack(ctx); err != nil { // another worker will get the block and find the result
		w.config.Log("block %d of %s is finished, but not acknowledged: %v", result.Block, result.Sweep, err)
	}
	return nil
}

func (w *Worker) publish(ctx context.Context, message *nats.Msg, data []byte, attempt string) error {
	large, limit := message.Header.Get(objectHeader) != "", 5*time.Second
	if large {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if large {
		if err := w.fleet.putResult(ctx, attempt, data); err != nil {
			return err
		}
	}
	_, err := w.fleet.js.PublishMsg(ctx, message, jetstream.WithMsgID(attempt))
	return err
}

// check refuses blocks that the operator does not allow.
func (w *Worker) check(job *Job) error {
	for _, c := range job.Cells {
		load, err := workload.Lookup(c.Workload)
		if err != nil {
			return fmt.Errorf("refused: %w", err)
		}
		kind := KindLab
		if load.NeedsCommand || len(c.Command) > 0 {
			kind = KindExec
		}
		if !slices.Contains(w.config.Allow, kind) {
			return fmt.Errorf("refused: cell %d runs a program, which the operator of worker %s does not allow (--allow %s)",
				c.Index, w.config.Name, strings.Join(w.config.Allow, ","))
		}
		if kind == KindExec && (len(c.Command) == 0 || len(job.Programs) == 0) {
			return fmt.Errorf("refused: cell %d runs a program, but none came with it", c.Index)
		}
		for _, p := range load.Params {
			if value := c.Params[p.Name]; p.Path && value != "" && !filepath.IsLocal(value) {
				return fmt.Errorf("refused: cell %d: %s=%s leaves the working directory", c.Index, p.Name, value)
			}
		}
		for i, arg := range c.Command {
			if i > 0 && leaves(arg) {
				return fmt.Errorf("refused: cell %d: argument %q leaves the working directory", c.Index, arg)
			}
		}
	}
	return nil
}

// leaves reports whether an argument, or its part after =, is an absolute path
// or contains "..".
func leaves(arg string) bool {
	for _, part := range []string{arg, arg[strings.Index(arg, "=")+1:]} {
		if filepath.IsAbs(part) || strings.HasPrefix(part, "/") ||
			slices.Contains(strings.FieldsFunc(part, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
			return true
		}
	}
	return false
}

// limit returns the cell as it will run: within the operator's limits, with the program
// that came with the block.
func (w *Worker) limit(c cell.Cell, program string) cell.Cell {
	if most := w.config.MaxTimeout; most > 0 && (c.Timeout == 0 || c.Timeout > most) {
		c.Timeout = most
	}
	if most := w.config.MaxMemoryBytes; most > 0 && (c.MemoryBytes == 0 || c.MemoryBytes > most) {
		c.MemoryBytes = most
	}
	if program != "" && len(c.Command) > 0 {
		c.Command = append([]string{program}, c.Command[1:]...)
	}
	return c
}

// workDir returns an empty directory for a block.
func (w *Worker) workDir() (string, error) {
	if w.dir != "" {
		return w.dir, nil
	}
	if err := os.MkdirAll(w.config.Dir, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(w.config.Dir, "block-")
	if err != nil {
		return "", err
	}
	if a := w.config.Account; a != nil {
		if err := os.Chown(dir, int(a.UID), int(a.GID)); err != nil {
			os.RemoveAll(dir)
			return "", err
		}
	}
	w.dir, err = filepath.Abs(dir)
	return w.dir, err
}

// tidy removes the directory, unless it is empty and no foreign program has run in it.
func (w *Worker) tidy(foreign bool) {
	if entries, err := os.ReadDir(w.dir); foreign || err != nil || len(entries) > 0 {
		os.RemoveAll(w.dir)
		w.dir = ""
	}
}

// noteFloor records how much a block's baseline and its twin differed.
func (w *Worker) noteFloor(r *Result) {
	for i := range r.Records {
		twin := &r.Records[i]
		if !twin.Cell.Twin || twin.Err != nil {
			continue
		}
		base := twin.Cell.Config
		base.Twin = false
		for j := range r.Records {
			if r.Records[j].Err == nil && r.Records[j].Cell.Key() == base.Key() {
				if ratio := twinRatio(&r.Records[j], twin); ratio > 0 {
					w.update(func(m *Member) { m.noteFloor(ratio) })
				}
			}
		}
	}
}

// twinRatio returns the ratio, 1 or more, in the first of these figures that both records
// have; 0 if there is none.
func twinRatio(a, b *cell.Record) float64 {
	for _, metric := range []string{cell.OpTime, cell.OpCPU, cell.TotalCPU, cell.WallTime} {
		if x, y := a.Metrics[metric], b.Metrics[metric]; x > 0 && y > 0 {
			return max(x/y, y/x)
		}
	}
	return 0
}

func (m *Member) noteFloor(ratio float64) {
	m.floors = append(m.floors, ratio)
	if len(m.floors) > 64 {
		m.floors = m.floors[1:]
	}
	sorted := slices.Sorted(slices.Values(m.floors))
	m.Floor = sorted[len(sorted)/2]
}
