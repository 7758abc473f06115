// Package advice runs the checks of package advise over the packages of a
// module and gathers what they find: sorted, counted, and ready to print as
// JSON or SARIF. It also explains a line by what the compiler says of it, and
// measures in benchmarks how long what they allocate lives.
//
// The checks themselves are in package advise; this one knows the go command,
// files and formats. Packages are checked one after another, from source, with
// what they import taken from export data; none stays in memory.
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

// Config says what to analyze, and what may be run to do so.
type Config struct {
	Dir      string // where patterns are looked up; empty for the working directory
	Patterns []string
	Checks   []*check.Check
	Profiles []string // pprof files, or URLs of running programs, whose samples are joined to the findings
	LeftOut  []string // what they lack, and why
	Env      []string // for the go command, beyond that of this process
	Cache    string   // directory that keeps what was found in a package until it changes; empty for none
	Limit             // of what it starts
	Progress func(string)

	// The benchmarks that Run measures lifetimes with, as of go test; empty where it measures none. Only they judge
	// fixes; empty for all.
	Bench string
	Try   bool // Run tries the fixes with these benchmarks
	Prove bool // Verify comes after Run, and tells of what saves nothing

	Race      bool   // Verify runs the tests under the race detector
	Blocks    int    // interleaved repetitions of both sides of a fix
	BenchTime string // of one repetition, as of go test

	overlay overlay    // files that stand for those of the packages
	life    *lifetimes // of an earlier run on the same packages; nil for new ones
}

// A Result is what the checks found, and where they looked.
type Result struct {
	// by caveat and by share where there is a profile, then by severity, then by place
	Findings  []Finding `json:"findings"`
	Packages  int       `json:"packages"`
	Files     int       `json:"files"`
	Lines     int       `json:"lines"`
	Generated int       `json:"generated"`         // files skipped because they are generated
	Skipped   []Skipped `json:"skipped,omitempty"` // packages that could not be checked
	Evidence  *Evidence `json:"evidence,omitempty"`

	// how to get a profile; none where there is one
	Next []Step `json:"next,omitempty"`

	Verification *Verification `json:"verification,omitempty"` // set by whoever calls Verify
}

// A Skipped is a package that was not checked, and why, on one line.
type Skipped struct {
	Package string `json:"package"`
	Reason  string `json:"reason"`
}

// A Finding is one diagnostic.
type Finding struct {
	File     string  `json:"file"` // relative to the directory where it is below it
	Line     int     `json:"line"`
	Column   int     `json:"column"`
	EndLine  int     `json:"end_line"`
	Check    string  `json:"check"`
	Exercise int     `json:"exercise,omitempty"`
	Severity string  `json:"severity"`
	Message  string  `json:"message"`
	Fix      bool    `json:"fix"` // the check can mend it
	Function string  `json:"function,omitempty"`
	Share    *Shares `json:"share,omitempty"` // of what the profiles measured: the allocations that it is about

	Caveat check.Caveat `json:"caveat,omitempty"` // what the fix asks for beyond its function

	Spans []span `json:"-"` // the code that the finding accounts for, its own first
	Grows bool   `json:"-"` // only what is allocated after the first time is saved
	Pkg   string `json:"-"` // import path
	Edits fix    `json:"-"` // what mends it; nil for none

	unsure bool     // only a trial tells whether it saves
	after  []string // the keys of the findings of the same memory that are tried before; this one, if those save nothing
}

// key tells findings with a fix apart.
func (f *Finding) key() string {
	return fmt.Sprint(f.Spans[0].File, ":", f.Spans[0].Start, " ", f.Check, " ", f.Message)
}

// Text is the message with the caveat, if any.
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
	End      int    // the one after its last
	Callee   string // what it calls, without its package and receiver
	Inner    bool   // it lies in the function that the first one calls
	Beyond   bool   // only what is called counts, not what the lines themselves allocate
	Literals int    // in how many function literals it lies; what deeper ones do is not of it
}

// Run loads the packages and runs the checks. Packages that do not compile are
// skipped; it is an error where no other is left, or one cannot be found. It returns
// as soon as the context ends; what is done to a package then is finished in vain.
func Run(ctx context.Context, c Config) (*Result, error) {
	var r *Result
	var err error
	done := make(chan struct{}) // closed when r and err are the caller's
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
			key := fmt.Sprint(f.File, f.Line, f.Column, f.Check) // a file may be of several packages
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
	}
	slices.SortFunc(r.Findings, before)
	return r, nil
}

// before orders findings: with a profile, those without a caveat come before all
// others.
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
