package claim

import (
	"embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// texts has a file for each document. The first line is the title. Entries follow,
// separated by empty lines: the name on its own line, then fields as "name: text",
// continued on indented lines. A name with a slash is a claim's ID; any other names an
// experiment, which claims refer to as their data. A line that begins with # is a comment.
//
//go:embed doc*.txt
var texts embed.FS

// fieldNames are the fields of an entry: the words of a claim first, then its measurement and test.
var fieldNames = []string{"section", "quote", "figure", "predicts", "refutes", "why", "untestable",
	"data", "run", "quick", "full", "test", "cpus"}

// An entry is a claim or an experiment as written in a document.
type entry struct {
	name   string
	fields map[string]string
}

func readEntries(text string) (all []entry, err error) {
	var fields map[string]string // of the last entry, nil between entries
	field, n := "", 1
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		name, rest, isField := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			fields = nil
		case fields == nil:
			fields, field = map[string]string{}, ""
			all = append(all, entry{line, fields})
		case strings.HasPrefix(line, " ") && field != "":
			fields[field] += " " + strings.TrimSpace(line)
		case isField && slices.Contains(fieldNames, name):
			field = name
			fields[field] = strings.TrimSpace(rest)
		default:
			return nil, fmt.Errorf("line %d: %q: want a field of a claim", n, line)
		}
	}
	return all, nil
}

// readDocument reads a document.
func readDocument(id, text string) (*Document, error) {
	title, rest, _ := strings.Cut(text, "\n")
	entries, err := readEntries(rest)
	if err != nil {
		return nil, err
	}
	d := &Document{ID: id, Title: title}
	experiments, seen := map[string]Experiment{}, map[string]bool{}
	for _, e := range entries {
		if seen[e.name] {
			return nil, fmt.Errorf("%s occurs twice", e.name)
		}
		seen[e.name] = true
		f := e.fields
		own := Experiment{Run: f["run"], Quick: f["quick"], Full: f["full"]}
		if !strings.Contains(e.name, "/") {
			experiments[e.name] = own
			continue
		}
		c := Claim{ID: e.name, Section: f["section"], Quote: f["quote"], Figure: f["figure"], Predicts: f["predicts"],
			Refutes: f["refutes"], Why: f["why"], Untestable: f["untestable"], Experiment: own}
		if err := c.readData(f, experiments); err != nil {
			return nil, fmt.Errorf("%s: %w", c.ID, err)
		}
		d.Claims = append(d.Claims, c)
	}
	return d, nil
}

// readData reads what the claim measures and tests.
func (c *Claim) readData(fields map[string]string, experiments map[string]Experiment) (err error) {
	if name := fields["data"]; name != "" {
		shared, ok := experiments[name]
		if !ok || c.Experiment != (Experiment{}) {
			return fmt.Errorf("data %s: want one experiment, either of the claim's own or one defined above", name)
		}
		c.Experiment = shared
	}
	if n := fields["cpus"]; n != "" {
		if c.CPUs, err = strconv.Atoi(n); err != nil {
			return fmt.Errorf("cpus %s: want a number", n)
		}
	}
	if text := fields["test"]; text != "" {
		if c.Test, err = readTest(text); err != nil {
			return fmt.Errorf("test %q: %w", text, err)
		}
	}
	return nil
}

// readTest reads a test: one of the following, or several joined by "and", which make an [All].
//
//	SIDE over SIDE says RATIO               an Effect
//	SIDE [over SIDE] [from MIN] [to MAX]    a Range, from 0 and without end unless it says so
//	SIDE of SIDE from MIN to MAX            a Share of trials
//
// A side is a metric, then the factors of its configuration. After "over", a missing metric
// means that of the first side.
func readTest(text string) (Test, error) {
	var all All
	for part := range strings.SplitSeq(text, " and ") {
		t, err := readPart(strings.Fields(part))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func readPart(words []string) (Test, error) {
	clauses, at := map[string][]string{}, ""
	for _, word := range words {
		if slices.Contains([]string{"over", "of", "says", "from", "to"}, word) {
			if at = word; clauses[at] != nil {
				return nil, fmt.Errorf("%s occurs twice", at)
			}
			clauses[at] = []string{}
			continue
		}
		clauses[at] = append(clauses[at], word)
	}
	for clause, words := range clauses {
		if len(words) == 0 {
			return nil, fmt.Errorf("nothing follows %q", clause)
		}
	}
	side := func(words []string, metric string) Side {
		if len(words) > 0 && strings.HasPrefix(words[0], "/") {
			metric, words = words[0], words[1:]
		}
		return Side{metric, strings.Join(words, " ")}
	}
	var bad error
	number := func(clause string, otherwise float64) float64 {
		if words, ok := clauses[clause]; ok {
			v, err := strconv.ParseFloat(strings.Join(words, " "), 64)
			bad = errors.Join(bad, err)
			return v
		}
		return otherwise
	}
	first := side(clauses[""], "")
	var over Side
	if words, ok := clauses["over"]; ok {
		over = side(words, first.Metric)
	}
	var t Test = Range{Of: first, Over: over, Min: number("from", 0), Max: number("to", math.Inf(1))}
	switch trials, share := clauses["of"]; {
	case share:
		t = Share{Hits: first, Trials: side(trials, ""), Min: number("from", 0), Max: number("to", 1)}
	case clauses["says"] != nil:
		t = Effect{Of: first, Over: over, Says: number("says", 0)}
	}
	for _, s := range t.sides() {
		if s.Metric == "" {
			return nil, errors.New("want a metric on each side")
		}
	}
	return t, bad
}
