// Package check defines an allocation check: one value of type [Check] that holds the analyzer, its
// documentation, its severity and the Go versions it applies to. A check lives in its own directory
// beside this one and exports that value as Check; the registry of package advise, the commands and
// the tests are derived from it.
//
// A check sees the code through a [Pass], which adds to an [analysis.Pass] what allocation checks
// often need: whether a line is cold, how a value is used ([Use]), and edits that keep imports
// correct. Only checks with Lifetimes use facts of other packages. Every check runs under any driver:
// vet, golangci-lint, gopls.
//
// Diagnostics are dropped in generated files, in files of a Go version that the check does not cover,
// and on lines with
//
//	//isobar:ignore check reason
//
// No analyzer knows how often a line runs: traps are always reported, other findings only if the
// analyzer's flag all is set.
//
// Checks have no state; set the flags of an analyzer before it runs. Analyzers may run concurrently.
package check

import (
	"cmp"
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

func (s Severity) String() string {
	names := map[Severity]string{Advice: "advice", Trap: "trap"}
	return cmp.Or(names[s], fmt.Sprintf("Severity(%d)", int(s)))
}

// A Check is one allocation pattern or correctness trap. New completes it.
type Check struct {
	Name      string // of the directory, the package and the analyzer
	Exercise  int    // number of the workload exercise, 1 to 18; 0 for none, as for a trap
	Severity  Severity
	Doc       string // what is flagged and why; the first line stands alone
	When      string // when the fix is worth making
	WhenNot   string // when the check stays silent
	Measured  string // before and after, with the Go version; empty for a trap
	Since     string // first language version it applies to, such as "go1.22"; empty for all
	Until     string // first language version it no longer applies to
	Grows     bool   // the flagged value grows, and the fix saves all but its first allocation
	Own       bool   // the flagged line itself allocates, not its callees
	Lifetimes bool   // Run uses Pass.Life
	Run       func(*Pass)
	Hoists    string // what Pass.Hoist moves to a package variable, unless the analyzer's flag hoist is off
	// Analyzer is set by New.
	Analyzer *analysis.Analyzer

	all, hoist *bool // set by the analyzer's flags, read by its passes
}

// New validates c, builds its analyzer and returns it. It panics if c is incomplete or invalid.
func New(c Check) *Check {
	if err := c.validate(); err != nil {
		panic("check: New: " + err.Error())
	}
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	if c.Hoists != "" {
		c.hoist = flags.Bool("hoist", true, "offer to move "+c.Hoists+" to a package variable")
	}
	c.all = flags.Bool("all", false, "also report findings that are only worth a look where a profile points")
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

// text returns the documentation for the analyzer and the command line.
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

// Versions describes the language versions that c applies to.
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

// ReportAll sets the analyzer's flag all, without which only traps report anything.
func (c *Check) ReportAll(on bool) { *c.all = on }
