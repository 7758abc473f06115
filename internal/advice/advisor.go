// Package advice runs the checks of package advise on the packages of a module and collects
// the findings: sorted, counted, and ready to print as JSON or SARIF. It also explains a line
// by the compiler's diagnostics, and measures in benchmarks how long allocated memory lives.
//
// The checks themselves are in package advise; this package handles the go command, files and
// formats. Packages are checked from source, several at a time, with their imports taken from
// export data; none stays in memory.
//
// Imports: base, advise, lab, show, heap.
package advice

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/advise/check"
)

// Config says what to analyze, and what may run to do so.
type Config struct {
	Dir      string // where patterns are looked up; empty for the working directory
	Patterns []string
	Checks   []*check.Check
	Profiles []string     // pprof files, or URLs of running programs, to join to the findings
	LeftOut  []string     // what the profiles lack, and why
	Env      []string     // for the go command, added to the environment of this process
	Cache    string       // directory that caches results until a package changes; empty for none
	Limit                 // of the processes it starts
	Progress func(string) // nil for none

	// Bench selects, as in go test, the benchmarks with which Run measures lifetimes, and
	// which alone judge fixes. If empty, Run measures none, and all benchmarks judge.
	Bench string
	Try   bool // Run tries the fixes with these benchmarks
	Prove bool // Verify follows Run, and reports what saves nothing

	Race      bool   // Verify runs the tests under the race detector
	Blocks    int    // interleaved repetitions of both sides of a fix
	BenchTime string // of one repetition, as in go test

	overlay overlay    // files that replace those of the packages
	life    *lifetimes // of an earlier run on the same packages; nil for none
}

// say tells what is done now.
func (c *Config) say(step string) {
	if c.Progress != nil {
		c.Progress(step)
	}
}

// A Result is what the checks found, and where they looked.
type Result struct {
	// sorted by caveat and share if there is a profile, then by severity, then by place
	Findings  []Finding `json:"findings"`
	Packages  int       `json:"packages"`
	Files     int       `json:"files"`
	Lines     int       `json:"lines"`
	Generated int       `json:"generated"`         // files skipped because they are generated
	Skipped   []Skipped `json:"skipped,omitempty"` // packages that could not be checked
	Evidence  *Evidence `json:"evidence,omitempty"`

	// how to get a profile; empty if there is one
	Next []Step `json:"next,omitempty"`

	Verification *Verification `json:"verification,omitempty"` // set by the caller of Verify
}

// A Skipped is a package that was not checked, and why, on one line.
type Skipped struct {
	Package string `json:"package"`
	Reason  string `json:"reason"`
}

// A Finding is one diagnostic.
type Finding struct {
	File     string  `json:"file"` // relative to the directory if below it
	Line     int     `json:"line"`
	Column   int     `json:"column"`
	EndLine  int     `json:"end_line"`
	Check    string  `json:"check"`
	Exercise int     `json:"exercise,omitempty"`
	Severity string  `json:"severity"`
	Message  string  `json:"message"`
	Fix      bool    `json:"fix"` // the check can fix it
	Function string  `json:"function,omitempty"`
	Share    *Shares `json:"share,omitempty"` // of the profiles: the allocations that it is about

	Caveat check.Caveat `json:"caveat,omitempty"` // what the fix needs beyond its function

	Spans []span `json:"-"` // the code that the finding accounts for, its own first
	Grows bool   `json:"-"` // only allocations after the first are saved
	Pkg   string `json:"-"` // import path
	Edits fix    `json:"-"` // the fix; nil for none

	apart  Totals   // what its lines make by expressions that it is not about
	unsure bool     // only a trial tells whether it saves
	after  []string // keys of findings on the same memory; this one is tried only if those save nothing
}

// key identifies a finding with a fix.
func (f *Finding) key() string {
	return fmt.Sprint(f.Spans[0].File, ":", f.Spans[0].Start, " ", f.Check, " ", f.Message)
}

// Text returns the message with the caveat, if any.
func (f *Finding) Text() string {
	text := f.Message
	if f.Caveat != "" {
		text += "; " + string(f.Caveat)
	}
	return text
}

// A span is a range of lines of a file, by its absolute name.
type span struct {
	File     string
	From, To int
	Column   int    // of its beginning
	Start    int    // its first byte
	End      int    // the byte after its last
	Callee   string // what it calls, without package and receiver
	Inner    bool   // it lies in the function that the first span calls
	Beyond   bool   // only the callee's allocations count, not those of the lines themselves
	Literals int    // number of function literals around it; deeper ones are not part of it
}

// Run loads the packages and runs the checks. It skips packages that do not compile,
// and fails if no other is left or one cannot be found. It returns as soon as the
// context ends; work in progress is then discarded.
func Run(ctx context.Context, c Config) (*Result, error) {
	var r *Result
	var err error
	done := make(chan struct{}) // closed when r and err belong to the caller
	go func() {
		defer close(done)
		r, err = look(ctx, c)
	}()
	select {
	case <-done:
		return r, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func look(ctx context.Context, c Config) (*Result, error) {
	c.say("checking the packages")
	units, err := analyze(ctx, c)
	if err != nil {
		return nil, err
	}
	base, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("advise: %w", err)
	}
	r := &Result{Findings: []Finding{}}
	seen := map[string]bool{}
	for _, u := range units {
		if u.skipped != "" {
			r.Skipped = append(r.Skipped, Skipped{u.PkgPath, u.skipped})
			continue
		}
		r.Packages++
		for _, f := range u.Files {
			if f.Generated {
				r.Generated++
				continue
			}
			r.Files++
			r.Lines += f.Lines
		}
		for _, f := range u.Findings {
			f.File = relative(base, f.File)
			key := fmt.Sprint(f.File, f.Line, f.Column, f.Check) // a file may belong to several packages
			if !seen[key] {
				seen[key] = true
				r.Findings = append(r.Findings, f)
			}
		}
	}
	if len(c.Profiles) == 0 {
		r.Next = next(c, units)
	} else if r.Evidence, err = join(ctx, c, units, base, r.Findings); err != nil {
		return nil, err
	} else {
		r.Findings = append(r.Findings, r.Evidence.Account.mended...)
		r.try(ctx, c)
		r.Evidence.Account.once()
	}
	slices.SortFunc(r.Findings, before)
	return r, nil
}

// before orders findings; with a profile, those without a caveat come first.
func before(a, b Finding) int {
	caveat := 0
	if a.Share != nil && b.Share != nil {
		caveat = cmp.Compare(min(len(a.Caveat), 1), min(len(b.Caveat), 1))
	}
	return cmp.Or(caveat, cmp.Compare(b.Share.weight(), a.Share.weight()),
		strings.Compare(b.Severity, a.Severity), // a trap before advice
		strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
}

func relative(base, name string) string {
	rel, err := filepath.Rel(base, name)
	if err != nil || strings.HasPrefix(rel, "..") {
		return name
	}
	return filepath.ToSlash(rel)
}
