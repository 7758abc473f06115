package heap

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/isobar-go/isobar/internal/heap/graph"
	"github.com/isobar-go/isobar/internal/heap/image"
)

// format is the version of saved reports.
const format = 1

// A Report is the result of reading a heap. It has names, counts and sizes, but no
// contents of the program's memory.
type Report struct {
	Format  int           `json:"isobar_heap"`
	Target  string        `json:"target"`
	Program string        `json:"program"`
	Go      string        `json:"go"`
	Time    time.Time     `json:"time"`
	Stop    time.Duration `json:"stop_ns"`
	Forked  bool          `json:"forked,omitempty"` // Stop is the time to fork, not to copy
	Copied  uint64        `json:"copied_bytes"`
	graph.Totals
	Collector  Collector    `json:"collector"`
	Spans      Spans        `json:"spans"`
	Tree       *Node        `json:"tree"`
	Types      []Type       `json:"types"`
	Goroutines []Goroutines `json:"goroutines"`
	Ledger     *Ledger      `json:"ledger,omitempty"` // of a process only
	Warnings   []string     `json:"warnings,omitempty"`
}

// Spans splits the bytes of the heap's spans.
type Spans struct {
	Used   uint64 `json:"used_bytes"`   // all slots and the tails
	Slots  uint64 `json:"slots_bytes"`  // free and used
	Free   uint64 `json:"free_bytes"`   // slots without an object
	Tail   uint64 `json:"tail_bytes"`   // after the last slot of spans
	Stacks uint64 `json:"stacks_bytes"` // spans of goroutines' stacks
}

// A Node is a path from a root, with what its objects retain together.
type Node = graph.Node

// A Type sums up the live objects of one type.
type Type = graph.Type

// mostTypes is the most types that a report keeps.
const mostTypes = 1000

// totals sums what the image forgets during Analyze.
func totals(im *image.Image) Spans {
	sum := Spans{Stacks: im.StackSpans}
	for i := range im.Spans {
		s := &im.Spans[i]
		bytes, slots := s.Bytes(), uint64(s.N)*s.Elem
		sum.Used += bytes
		sum.Slots += slots
		sum.Tail += bytes - slots
		sum.Free += slots - s.AllocatedBytes()
	}
	return sum
}

func newReport(name string, im *image.Image, res *graph.Result, spans Spans) *Report {
	r := &Report{
		Format: format, Target: name, Program: im.Program.Path, Go: im.Program.Go, Time: time.Now().UTC(),
		Stop: im.Stop, Forked: im.Forked, Copied: im.CopiedByte, Totals: res.Totals, Collector: Collector(im.Collector),
		Spans: spans, Tree: res.Root, Warnings: im.Warnings,
	}
	for _, t := range res.Types {
		r.Types = append(r.Types, *t)
	}
	slices.SortFunc(r.Types, func(a, b Type) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	r.Types = r.Types[:min(len(r.Types), mostTypes)]
	r.Goroutines = goroutines(im, res)
	return r
}

// Save writes the report to a new file that only the user may read.
func (r *Report) Save(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("heap: save: %w", err)
	}
	z := gzip.NewWriter(f)
	if err := errors.Join(json.NewEncoder(z).Encode(r), z.Close(), f.Close()); err != nil {
		return fmt.Errorf("heap: save %s: %w", name, err)
	}
	return nil
}

// mostSaved is the largest size of a saved report in bytes, uncompressed.
const mostSaved = 1 << 30

// Load reads a saved report.
func Load(name string) (*Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("heap: %w", err)
	}
	defer f.Close()
	r, err := decode(f)
	if err != nil {
		return nil, fmt.Errorf("heap: %s is neither a core file nor a report that --save wrote (%w)", name, err)
	}
	return r, nil
}

func decode(in io.Reader) (*Report, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	if err := json.NewDecoder(io.LimitReader(z, mostSaved)).Decode(r); err != nil {
		return nil, err
	}
	if r.Format != format {
		return nil, fmt.Errorf("it has format %d, this isobar reads %d", r.Format, format)
	}
	if !sound(r.Tree, 0) {
		return nil, errors.New("its tree is broken")
	}
	return r, nil
}

// sound reports whether a tree can be walked.
func sound(n *Node, depth int) bool {
	bad := func(c *Node) bool { return !sound(c, depth+1) }
	return n != nil && depth < 10_000 && !slices.ContainsFunc(n.Children, bad)
}
