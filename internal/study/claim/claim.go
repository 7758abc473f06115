// Package claim is the ledger of what the source documents assert: one text per document,
// one [Claim] per assertion, with the experiment that tests it and the rule that decides.
//
// An [Experiment] is a command line of 'isobar lab run', so a claim is data:
// the package runs nothing and knows no workload. The command measures each
// experiment into the store as an ordinary run; claims with equal experiments
// share one. [Read] finds the latest complete run of each, and the claim's
// [Test] turns its samples into a [Verdict].
//
// A test uses only paired samples: the median of paired ratios with its
// bootstrap interval by block, counts, and shares. The estimate determines the
// verdict. If the interval reaches into the adjacent verdict, the verdict is
// tentative; if it reaches farther, the verdict is [Open], and more repetitions
// may close it. No verdict is finer than the difference between two equal
// configurations of the same run (A/A).
//
// A test of this package invents data that support each claim and data that do not, and
// checks that the verdict changes. A claim that cannot fail is a defect.
//
// To add a document, write docNNN.txt; read.go says how.
package claim

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// A Document is one source document with its claims.
type Document struct {
	ID     string // "000"
	Title  string
	Claims []Claim
}

// A Claim is one assertion of a document.
type Claim struct {
	// ID is the document's ID and a name: "000/ticker".
	ID      string
	Section string // where the document says it
	Quote   string // what it says, in a few of its words
	Figure  string // the document's figure with its unit; "" if it gives none
	// Predicts says what the experiment would show if the claim were true.
	Predicts   string
	Experiment Experiment
	Test       Test
	// Refutes says what result would refute the claim.
	Refutes string
	// Why explains why the result differs from the document, or the cause. It is
	// shown unless the verdict is Holds.
	Why string
	// CPUs is the number of CPUs needed to test the claim; 0 for any number.
	CPUs int
	// Untestable says why no experiment here can decide. Such a claim has neither
	// Experiment nor Test.
	Untestable string
}

// A Verdict is the result for a claim.
type Verdict string

const (
	Holds    Verdict = "holds"
	Weaker   Verdict = "weaker"   // an effect as claimed, but less than half of the figure
	Refuted  Verdict = "refuted"  // no effect, or almost none
	Reversed Verdict = "reversed" // an effect the other way
	// Varies: published runs decide differently; see [Claim.Pool].
	Varies Verdict = "varies"
	// Open: the interval does not decide; more repetitions may.
	Open       Verdict = "open"
	Untestable Verdict = "untestable"
	// NotRun: the store has no complete run of the experiment.
	NotRun Verdict = "not run"
)

// Verdicts lists all verdicts in counting order.
var Verdicts = []Verdict{Holds, Weaker, Refuted, Reversed, Varies, Open, Untestable, NotRun}

// documents reads the documents, ordered by ID. Parsing allocates 9 MB, so it is done on first
// use. It panics if a document is malformed: they are embedded, and a test reads them all.
var documents = sync.OnceValue(func() (all []*Document) {
	names, _ := fs.Glob(texts, "doc*.txt") // fails only for a malformed pattern
	for _, name := range names {
		text, _ := texts.ReadFile(name) // it is embedded
		d, err := readDocument(strings.TrimSuffix(strings.TrimPrefix(name, "doc"), ".txt"), string(text))
		if err != nil {
			panic("claim: " + name + ": " + err.Error())
		}
		all = append(all, d)
	}
	return all
})

// Documents returns the documents by ID.
func Documents() []*Document { return slices.Clone(documents()) }

// Select returns the claims of the given documents, or those with the given
// IDs, in order. Without either it returns all.
func Select(docs, ids []string) ([]*Claim, error) {
	var out []*Claim
	wanted, found := slices.Concat(docs, ids), make(map[string]bool)
	for _, d := range documents() {
		for i := range d.Claims {
			c := &d.Claims[i]
			if len(wanted) == 0 || slices.Contains(wanted, d.ID) || slices.Contains(wanted, c.ID) {
				out = append(out, c)
				found[d.ID], found[c.ID] = true, true
			}
		}
	}
	for _, name := range wanted {
		if !found[name] {
			return nil, fmt.Errorf("claim: select: there is no %q: 'isobar claims' lists documents and claims", name)
		}
	}
	return out, nil
}
