package main

import (
	"fmt"
	"strings"

	"github.com/isobar-go/isobar/internal/advice"
	"github.com/isobar-go/isobar/internal/show/text"
)

func (a *app) printAdvice(r *advice.Result, shown []advice.Finding, folded int) error {
	var b strings.Builder
	if len(shown) > 0 && r.Evidence != nil {
		b.WriteString("findings of the checks, with their share of the profile:\n")
	}
	for _, f := range shown {
		share := ""
		if s := f.Share; s != nil {
			share = " [" + s.String() + "]"
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s %s:%s %s\n", f.File, f.Line, f.Column, f.Severity, f.Check, share, f.Text())
	}
	if e := r.Evidence; e != nil {
		for _, note := range e.Notes {
			fmt.Fprintf(&b, "\nnote: %s\n", note)
		}
		if e.Account != nil {
			printAccount(&b, e)
		}
	}
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "skipped %s: %s\n", s.Package, s.Reason)
	}
	fmt.Fprintf(&b, "%s in %s of %s", text.Plural(len(shown), "finding"), text.Plural(r.Lines, "line"),
		text.Plural(r.Packages, "package"))
	switch {
	case folded > 0 && r.Evidence == nil:
		fmt.Fprintf(&b, "; %d more if the code is hot (--all); a profile tells", folded)
	case folded > 0:
		fmt.Fprintf(&b, "; %s below 0.5 %% of the profile", text.Plural(folded, "finding"))
	}
	if r.Generated > 0 {
		fmt.Fprintf(&b, "; %s skipped", text.Plural(r.Generated, "generated file"))
	}
	if len(r.Skipped) > 0 {
		fmt.Fprintf(&b, "; %s skipped", text.Plural(len(r.Skipped), "package"))
	}
	for _, s := range r.Next {
		fmt.Fprintf(&b, "\nnext, %s:\n  %s", s.Text, s.Command)
	}
	_, err := fmt.Fprintln(a.Out, b.String())
	return err
}

// The account on a terminal: how many of the largest sites with and without a remedy it shows.
const (
	accountRemedies = 15
	accountOthers   = 10
)

// printAccount lists what allocates: first sites with a remedy or a candidate, with the
// code and why the memory is on the heap, then the largest other sites.
func printAccount(b *strings.Builder, e *advice.Evidence) {
	a := e.Account
	has := "has CPU time alone; one of heap or allocs counts what is made"
	if e.Total.Objects > 0 {
		has = fmt.Sprintf("has %s in %s objects; explained: %.1f %% of bytes, %.1f %% of objects; the lifetime is %s",
			text.Bytes(float64(e.Total.Bytes)), text.Count(float64(e.Total.Objects)), 100*a.Explained.Bytes,
			100*a.Explained.Objects, a.Known())
	}
	fmt.Fprintf(b, "\nwhere the memory is made, and what can be done about it (the profile %s):\n", has)
	var rest []advice.Explained
	remedies := 0
	for _, s := range a.ByVerdict() {
		if !s.Proposes() {
			rest = append(rest, s)
			continue
		}
		if remedies++; remedies <= accountRemedies {
			printSite(b, &s)
		}
	}
	if remedies > accountRemedies {
		fmt.Fprintf(b, "\n%s more with a remedy (--html FILE and --json have all)\n",
			text.Plural(remedies-accountRemedies, "place"))
	}
	if len(rest) > 0 {
		b.WriteString("\nthe largest without a worthwhile remedy:\n")
	}
	for _, s := range rest[:min(accountOthers, len(rest))] {
		printSite(b, &s)
	}
	fmt.Fprintf(b, "\nno line of these packages on the stack: %s\n", e.Outside)
	if e.Total.CPU > 0 {
		fmt.Fprintf(b, "the collector: %.1f %% of CPU\n", 100*float64(e.Total.GC)/float64(e.Total.CPU))
	}
	b.WriteByte('\n')
}

// printSite prints what is known about a site, then its remedy or where to look.
func printSite(b *strings.Builder, s *advice.Explained) {
	fmt.Fprintf(b, "\n%s:%d: %s, in %s\n", s.File, s.Line, s.Name(), s.Function)
	fmt.Fprintf(b, "    %s\n", s.Source)
	fmt.Fprintf(b, "  makes: %s (%s)\n", s.Made(), s.Share.String())
	fmt.Fprintf(b, "  lives: %s\n", s.Life())
	if s.Flow != "" {
		fmt.Fprintf(b, "  on the heap: %s\n", s.Flow)
	}
	fmt.Fprintf(b, "  %s: %s\n", s.Verdict, decided(s))
	if s.Fix {
		b.WriteString("  --fix can make the change; --fix --verify proves it\n")
	}
}

// decided returns the remedy, or where to look, with the place that decides it.
func decided(s *advice.Explained) string {
	if s.Decides != "" && !strings.Contains(s.Remedy, s.Decides) {
		return s.Remedy + " (see " + s.Decides + ")"
	}
	return s.Remedy
}
