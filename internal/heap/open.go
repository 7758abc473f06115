package heap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/isobar-go/isobar/internal/heap/gotype"
	"github.com/isobar-go/isobar/internal/heap/graph"
	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/heap/layout"
	"github.com/isobar-go/isobar/internal/heap/target"
)

// Config bounds a reading.
type Config struct {
	image.Config
	Strings bool   // count duplicate strings, which reads their contents
	Binary  string // executable of a core that does not name it
}

// Open reads a target: a process by its number, a core file, or a saved report.
func Open(ctx context.Context, name string, c Config) (*Report, error) {
	if pid, err := strconv.Atoi(name); err == nil {
		return process(ctx, pid, c)
	}
	if !target.IsCore(name) {
		r, err := Load(name)
		if err != nil {
			err = fmt.Errorf("%w; for a running program, give its process number", err)
		}
		return r, err
	}
	core, err := target.OpenCore(name, c.Binary)
	if err != nil {
		return nil, err
	}
	defer core.Close()
	r, err := read(ctx, name, nil, image.Source{Memory: core, Program: core.Program}, c)
	switch {
	case core.Cut != nil && err != nil:
		return nil, fmt.Errorf("heap: core %s: %w: %w", name, core.Cut, err)
	case core.Cut != nil:
		r.Warnings = append(r.Warnings, fmt.Sprintf("the core: %v", core.Cut))
	}
	return r, err
}

func process(ctx context.Context, pid int, c Config) (*Report, error) {
	if pid == os.Getpid() {
		return nil, fmt.Errorf("heap: process %d is this one, which cannot read itself", pid)
	}
	p, err := target.OpenProcess(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	p.MostStop = c.MaxPause
	r, err := read(ctx, fmt.Sprintf("process %d", pid), p, source(p), c)
	if err == nil {
		// Types and the like are not copied but were read from the process later:
		// check that its memory was still there.
		first := slices.IndexFunc(p.Maps, func(m target.Mapping) bool { return m.Read })
		err = p.Read([]target.Range{{Addr: p.Maps[max(first, 0)].Start, Data: make([]byte, 1)}})
	}
	if err != nil {
		if gone := p.Same(); gone != nil && !errors.Is(err, context.Canceled) {
			return nil, gone
		}
		if errors.Is(err, layout.ErrUnknown) {
			err = fmt.Errorf("%w; --ledger says where its resident memory is, but for the heap's", err)
		}
		return nil, err
	}
	return r, nil
}

func source(p *target.Process) image.Source {
	return image.Source{Memory: p, Program: p.Program, Clock: p.Clock,
		Stopped: func(copied func() error) (stop time.Duration, err error) {
			apart(func() { stop, err = p.Stopped(copied) })
			return stop, err
		},
		Forked: func(most time.Duration, copied func() error) (stop time.Duration, err error) {
			apart(func() { stop, err = p.Forked(most, copied) })
			return stop, err
		}}
}

// apart runs f on a goroutine that ends with it, as does its thread if a thread of the target did not stop.
func apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// collectAt is our GOGC while reading: the arrays are large and have no pointers.
const collectAt = 20

// read reads a target; p is its process, or nil.
func read(ctx context.Context, name string, p *target.Process, src image.Source, c Config) (*Report, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(collectAt))
	im, err := image.Read(ctx, src, c.Config)
	if err != nil {
		return nil, err
	}
	defer im.Release()
	types := gotype.NewTable(im)
	g, err := graph.Mark(ctx, im, types, variables(im, types), graph.ByKind)
	if err != nil {
		return nil, err
	}
	var ledger *Ledger
	if p != nil {
		if ledger, err = account(name, p, im, g); err != nil {
			im.Warnings = append(im.Warnings, err.Error())
		}
	}
	sum := totals(im)
	res, err := g.Analyze(ctx, c.Strings)
	if err != nil {
		return nil, err
	}
	r := newReport(name, im, res, sum)
	if r.Ledger = ledger; ledger != nil {
		ledger.advise(r.Holders(0.05))
	}
	return r, nil
}

// variables reads the global variables from DWARF; nil if there is none.
func variables(im *image.Image, types *gotype.Table) []gotype.Variable {
	d, err := im.Program.ELF.DWARF()
	if err != nil || len(im.Modules) == 0 {
		return nil
	}
	all, err := types.Variables(d, im.Program.Bias, im.Modules[0].Types)
	if err != nil {
		im.Warnings = append(im.Warnings, err.Error())
	}
	return all
}
