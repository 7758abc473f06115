package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// profileSet is the profiles that a cell requests and where they go.
type profileSet struct {
	dir   string
	kinds []string
	slow  *slowOps // of kinds that attribute operations to phases of the collector; else nil
}

// phasesKind is a trace that is attributed but not kept.
const phasesKind = "phases"

func newProfileSet(dir string, kinds []string) profileSet {
	p := profileSet{dir: dir, kinds: kinds}
	if slices.Contains(kinds, "trace") {
		p.kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return kind == phasesKind })
	}
	if slices.Contains(kinds, "trace") || slices.Contains(kinds, phasesKind) {
		p.slow = new(slowOps)
	}
	return p
}

// start begins profiling. The returned function writes the rest and names the
// files in rec.
func (p profileSet) start(rec *cell.Record) (stop func() error, err error) {
	if len(p.kinds) == 0 {
		return func() error { return nil }, nil
	}
	rec.Profiles = map[string]string{}
	rec.Warn("profiled", "profiles were taken: times include the cost of profiling")
	var files []*os.File
	for _, kind := range p.kinds {
		f, err := os.Create(filepath.Join(p.dir, kind))
		if err == nil {
			files = append(files, f)
			err = begin(kind, f)
		}
		if err != nil {
			return nil, fmt.Errorf("runner: %s profile: %w", kind, err)
		}
		if kind != phasesKind {
			rec.Profiles[kind] = kind
		}
	}
	return func() error {
		var errs []error
		if slices.Contains(p.kinds, "heap") || slices.Contains(p.kinds, "allocs") {
			runtime.GC() // these profiles show the state at the last collection
		}
		for i, kind := range p.kinds {
			err := errors.Join(finish(kind, files[i]), files[i].Close())
			if err == nil && (kind == "trace" || kind == phasesKind) {
				err = p.slow.attribute(rec, files[i].Name())
			}
			if err == nil && kind == "cpu" {
				err = countGCWork(rec, files[i].Name())
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s profile: %w", kind, err))
			}
		}
		return errors.Join(errs...)
	}, nil
}

func begin(kind string, f *os.File) error {
	switch kind {
	case "cpu":
		return pprof.StartCPUProfile(f)
	case "trace":
		return trace.Start(f)
	case phasesKind:
		return trace.Start(&capped{f, maxPhasesTrace})
	case "heap", "allocs":
		return nil
	}
	return errors.New("no such profile: want cpu, heap, allocs, trace or phases")
}

func finish(kind string, f *os.File) error {
	switch kind {
	case "cpu":
		pprof.StopCPUProfile()
	case "trace", phasesKind:
		trace.Stop()
	default:
		return pprof.Lookup(kind).WriteTo(f, 0)
	}
	return nil
}
