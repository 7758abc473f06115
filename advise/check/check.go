// Package check says what an allocation check is: one value of type [Check]
// that holds the analyzer, its documentation, its severity and the Go versions
// it holds for. A check lives in a directory of its own beside this one and
// exports that value as Check; the registry of package advise, the commands and
// the tests follow from it.
//
// A check sees the code through a [Pass], which adds to an [analysis.Pass] what
// allocation checks ask again and again: whether a line is cold, what becomes of
// a value ([Use]), and edits that keep imports right.
// All of it is worked out within one package, so a check needs no facts of
// other packages and runs under any driver: vet, golangci-lint, gopls.
//
// Diagnostics in generated files, before or after the versions of a check, and
// on lines with
//
//	//isobar:ignore check reason
//
// are dropped. How often a line runs, no analyzer knows: what needs a profile to
// be worth a look is reported only where the analyzer's flag all is set, traps
// always.
//
// Checks are values without state; the flags of an analyzer must be set before
// it runs. Analyzers may run concurrently.
package check

import (
	"errors"
	"flag"
	"fmt"
	"go/version"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/isobar-go/isobar/advise/life"
)

// Severity says whether a finding needs a profile.
type Severity int

const (
	Advice Severity = iota // worth a look where a profile points
	Trap                   // a mistake, however often the line runs
)

func (s Severity) String() string { return [...]string{"advice", "trap"}[s] }

// A Check is one allocation pattern or correctness trap. New completes it.
type Check struct {
	Name      string // of the directory, the package and the analyzer
	Exercise  int    // of the workload exercises, 1 to 18; 0 for none, as for a trap
	Severity  Severity
	Doc       string // what is flagged and why, beginning with one line that stands alone
	When      string // where the fix is worth making
	WhenNot   string // where the check stays silent
	Measured  string // before and after, with the Go version; empty for a trap
	Since     string // first language version it holds for, such as "go1.22"; empty for all
	Until     string // first language version it no longer holds for
	Grows     bool   // what is flagged grows, and the fix saves all but the first allocation
	Own       bool   // what is flagged allocates in its line, and not in what that calls
	Lifetimes bool   // Run asks Pass.Life who keeps what
	Run       func(*Pass)
	Hoists    string // what Pass.Hoist moves to a package variable, unless the analyzer's flag hoist is off
	// Analyzer is set by New.
	Analyzer *analysis.Analyzer

	all, hoist *bool // set by the analyzer's flags, read by its passes
}

// New checks that c is complete, builds its analyzer and returns it. It panics
// where something is missing.
func New(c Check) *Check {
	if err := c.validate(); err != nil {
		panic("check: New: " + err.Error())
	}
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	if c.Hoists != "" {
		c.hoist = flags.Bool("hoist", true, "offer to move "+c.Hoists+" to a package variable")
	}
	c.all = flags.Bool("all", false, "report what needs a profile to be worth a look, too")
	requires := []*analysis.Analyzer{codeAnalyzer}
	if c.Lifetimes {
		requires = append(requires, life.Analyzer)
	}
	c.Analyzer = &analysis.Analyzer{
		Name:     c.Name,
		Doc:      c.text(),
		Flags:    *flags,
		Requires: requires,
		Run: func(p *analysis.Pass) (any, error) {
			pass := &Pass{Pass: p, Code: p.ResultOf[codeAnalyzer].(*Code), check: &c, given: map[string]bool{}}
			pass.Life, _ = p.ResultOf[life.Analyzer].(*life.Package)
			c.Run(pass)
			return nil, nil
		},
	}
	return &c
}

func (c *Check) validate() error {
	switch {
	case c.Name == "" || strings.ToLower(c.Name) != c.Name:
		return fmt.Errorf("name %q: want lower case", c.Name)
	case c.Exercise < 0 || c.Exercise > 18:
		return fmt.Errorf("%s: exercise %d: want 1 to 18, or 0", c.Name, c.Exercise)
	case c.Doc == "" || c.When == "" || c.WhenNot == "":
		return fmt.Errorf("%s: Doc, When and WhenNot are needed", c.Name)
	case c.Severity == Trap && (c.Exercise > 0 || c.Measured != ""):
		return fmt.Errorf("%s: a trap has neither exercise nor Measured", c.Name)
	case c.Severity != Trap && c.Measured == "":
		return fmt.Errorf("%s: Measured is needed, but for a trap", c.Name)
	case c.Run == nil:
		return errors.New(c.Name + ": no Run")
	}
	for _, v := range []string{c.Since, c.Until} {
		if v != "" && !version.IsValid(v) {
			return fmt.Errorf("%s: %q is no Go version", c.Name, v)
		}
	}
	return nil
}

// text is the documentation of the analyzer, and of the command line.
func (c *Check) text() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(c.Doc))
	fmt.Fprintf(&b, "\n\nWhen: %s\nSilent: %s\n", c.When, c.WhenNot)
	if c.Measured != "" {
		fmt.Fprintf(&b, "Measured: %s\n", c.Measured)
	}
	if c.Exercise > 0 {
		fmt.Fprintf(&b, "Exercise: %d (isobar lab run exercises --exercise %d --variant before,after)\n",
			c.Exercise, c.Exercise)
	}
	if c.Since != "" || c.Until != "" {
		fmt.Fprintf(&b, "Go versions: %s\n", c.Versions())
	}
	fmt.Fprintf(&b, "Severity: %s", c.Severity)
	return b.String()
}

// Versions says which language versions c holds for.
func (c *Check) Versions() string {
	switch {
	case c.Since == "" && c.Until == "":
		return "all"
	case c.Until == "":
		return "from " + c.Since
	case c.Since == "":
		return "before " + c.Until
	}
	return "from " + c.Since + ", before " + c.Until
}

// holds reports whether c applies to code of the given language version.
func (c *Check) holds(v string) bool {
	return (c.Since == "" || version.Compare(v, c.Since) >= 0) && (c.Until == "" || version.Compare(v, c.Until) < 0)
}

// ReportAll makes the analyzer of a check that is no trap report at all, as its
// flag all does.
func (c *Check) ReportAll(on bool) { *c.all = on }
