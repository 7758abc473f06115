package claim

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// published has a file for each published run, written by 'isobar claims report --publish':
// a line of JSON about the run, then one for each claim.
//
//go:embed published
var published embed.FS

// A PublishedRun is one machine's findings on the claims on one day.
type PublishedRun struct {
	Day     string       `json:"day"` // 2026-01-31
	Machine cell.Machine `json:"machine"`
	Size    Size         `json:"size"`
	Note    string       `json:"note,omitempty"` // what may distinguish this run from others
	// findings are by the claim's ID; the file has one per line.
	findings map[string]finding
}

// A finding is the result of a run for one claim.
type finding struct {
	ID string `json:"id"`
	// Asks identifies experiment and test: findings on an earlier form of the claim do not count.
	Asks      string  `json:"asks"`
	Verdict   Verdict `json:"verdict"`
	Tentative bool    `json:"tentative,omitempty"`
	// Parts has, for each part of the test, the value, low and high end, noise floor and
	// repetitions; the floor is 0 if unknown. Runs transcribed from a page may lack parts.
	Parts [][5]float64 `json:"parts,omitempty"`
}

// asks identifies the claim's experiment and test.
func (c *Claim) asks() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %#v", c.Experiment.Run, c.Test))
	return fmt.Sprintf("%x", sum[:4])
}

// PublishedRuns returns the published runs, the oldest first.
func PublishedRuns() ([]*PublishedRun, error) {
	files, _ := fs.Glob(published, "published/*.jsonl") // fails only for a malformed pattern
	var runs []*PublishedRun
	for _, file := range files {
		data, _ := published.ReadFile(file) // it is embedded
		run, err := readPublished(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("claim: published run: %s: %w", path.Base(file), err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func readPublished(r io.Reader) (*PublishedRun, error) {
	in := json.NewDecoder(r)
	run := &PublishedRun{findings: map[string]finding{}}
	if err := in.Decode(run); err != nil {
		return nil, err
	}
	for {
		var f finding
		if err := in.Decode(&f); err == io.EOF {
			return run, nil
		} else if err != nil {
			return nil, err
		}
		run.findings[f.ID] = f
	}
}

// Publish writes the outcomes of the latest call of 'claims run': those whose runs have the
// seed of the newest one.
func Publish(w io.Writer, outcomes []Outcome, note string) error {
	var newest Outcome
	for _, o := range outcomes {
		if o.Run != nil && (newest.Run == nil || o.Run.Created.After(newest.Run.Created)) {
			newest = o
		}
	}
	if newest.Run == nil {
		return fmt.Errorf("claim: publish: nothing has been measured: 'isobar claims run' does")
	}
	size := Full
	if newest.Run.Name == newest.Experiment.Name(Quick) {
		size = Quick
	}
	m := newest.Run.Machine
	run := PublishedRun{Day: newest.Run.Created.UTC().Format("2006-01-02"), Size: size, Note: note,
		Machine: cell.Machine{OS: m.OS, Arch: m.Arch, CPU: m.CPU, CPUs: m.CPUs, MemoryBytes: m.MemoryBytes,
			GoVersion: m.GoVersion}}
	out := json.NewEncoder(w)
	if err := out.Encode(run); err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Run == nil || o.Run.Seed != newest.Run.Seed {
			continue
		}
		f := finding{ID: o.ID, Asks: o.asks(), Verdict: o.Verdict, Tentative: o.Tentative}
		for _, e := range o.Parts {
			f.Parts = append(f.Parts, [5]float64{finite(e.Value), finite(e.Lo), finite(e.Hi), finite(e.Floor), float64(e.N)})
		}
		if err := out.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

// finite returns the nearest value that JSON can represent.
func finite(v float64) float64 { return max(-math.MaxFloat64, min(math.MaxFloat64, v)) }

// finding returns the run's finding on the claim in its current form.
func (r *PublishedRun) finding(c *Claim) (finding, bool) {
	f, ok := r.findings[c.ID]
	return f, ok && f.Asks == c.asks() && len(f.Parts) <= len(c.parts())
}

// estimates returns the parts of a finding; ok if none is missing.
func (f finding) estimates(c *Claim) (out []Estimate, ok bool) {
	for _, p := range f.Parts {
		out = append(out, Estimate{Value: p[0], Lo: p[1], Hi: p[2], Floor: p[3], N: int(p[4])})
	}
	return out, len(out) == len(c.parts())
}

// parts returns the elementary tests that make up the claim's test.
func (c *Claim) parts() []Test {
	if all, ok := c.Test.(All); ok {
		return all
	}
	return []Test{c.Test}
}

// decided reports whether the verdict decides the claim.
func (v Verdict) decided() bool {
	return slices.Contains([]Verdict{Holds, Weaker, Refuted, Reversed}, v)
}
