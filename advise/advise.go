// Package advise finds allocation patterns that cost a Go program more than
// they need, and correctness traps that such optimizations bring.
//
// Each check is a [check.Check] in its own directory beside this file: the analyzer, its
// documentation, the measured effect, when the fix is worth making and when the check stays
// silent. This package lists them. The command isobar advise and the vet tool isobar-vet run
// them, and so can any driver of go/analysis.
//
// Static analysis cannot tell how often a line runs. By default only traps are reported,
// because they are wrong at any frequency; every other finding needs a profile or the
// analyzers' flag all. Cold code (start-up, error paths, tests) gets no finding.
//
// To add a check, add a directory with a package that exports Check, and its testdata; go
// generate lists it.
package advise

import (
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/isobar-go/isobar/advise/check"
)

//go:generate go run ./internal/registry -out checks.go

// All returns the checks: those with an exercise by its number, then the others by
// name, then traps by name.
func All() []*check.Check {
	all := slices.Clone(checks)
	slices.SortStableFunc(all, func(a, b *check.Check) int { return order(a) - order(b) })
	return all
}

func order(c *check.Check) int {
	switch {
	case c.Severity == check.Trap:
		return 100
	case c.Exercise == 0:
		return 99
	}
	return c.Exercise
}

// Lookup returns the check with the given name, or nil.
func Lookup(name string) *check.Check {
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Analyzers returns the analyzers of all checks.
func Analyzers() []*analysis.Analyzer {
	var all []*analysis.Analyzer
	for _, c := range All() {
		all = append(all, c.Analyzer)
	}
	return all
}
