package runner

import (
	"os"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// gcWork names functions of the runtime that collect, or wait for a lock or a thread meanwhile:
// those in the profile of seed document 002 that still exist, and the parts of marking. Each is a
// prefix of a name in package runtime.
var gcWork = []string{"gcDrain", "gcAssistAlloc", "markroot", "scanObject", "scanSpan", "sweepone",
	"(*sweepLocked).sweep", "(*lfstack).pop", "lock2", "procyield", "futex"}

// countGCWork reads a CPU profile and records the share of time that each function of gcWork was
// on the stack. Callees count too, so shares overlap.
func countGCWork(rec *cell.Record, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return err
	}
	var total int64
	within := map[string]int64{}
	for _, s := range p.Sample {
		ns := s.Value[len(s.Value)-1]
		total += ns
		counted := map[string]bool{}
		for _, l := range s.Location {
			for _, line := range l.Line {
				if f := workOf(line.Function); f != "" && !counted[f] {
					counted[f] = true
					within[f] += ns
				}
			}
		}
	}
	if total == 0 {
		return nil
	}
	for _, f := range gcWork {
		rec.Set(cell.GCWorkPrefix+f+":ratio", float64(within[f])/float64(total))
	}
	return nil
}

// workOf returns which of gcWork a function is, or "". Go versions differ in
// suffixes and capitals: scanobject, scanObjectsSmall, procyieldAsm.
func workOf(f *profile.Function) string {
	if f == nil {
		return ""
	}
	name, ok := strings.CutPrefix(f.Name, "runtime.")
	if !ok {
		return ""
	}
	for _, w := range gcWork {
		if len(name) >= len(w) && strings.EqualFold(name[:len(w)], w) {
			return w
		}
	}
	return ""
}
