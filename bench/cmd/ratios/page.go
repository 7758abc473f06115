package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// publish writes the page of each machine in records and the table of all
// machines.
func publish(records []record, dir string, stdout io.Writer) error {
	var machines []Machine
	for _, r := range records {
		if m := r.hardware(); !slices.Contains(machines, m) {
			machines = append(machines, m)
		}
	}
	for _, m := range machines {
		if err := publishMany(records, m, dir, stdout); err != nil {
			return err
		}
		sections, err := tables(records, m)
		if err != nil {
			return err
		}
		if sections == "" {
			continue
		}
		if dir == "" {
			if _, err := io.WriteString(stdout, page(m, sections)); err != nil {
				return err
			}
			continue
		}
		file := filepath.Join(dir, m.page())
		old, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(file, []byte(page(m, replaceSections(string(old), sections))), 0o644); err != nil {
			return err
		}
	}
	if dir == "" {
		return nil
	}
	return writeFront(dir)
}

// allBlocks is what the blocks of a package under a job have in common.
func (u unit) allBlocks() unit { u.Block = 0; return u }

// hardware is the machine whatever its Go.
func (m Machine) hardware() Machine { return Machine{CPU: m.CPU, CPUs: m.CPUs} }

var noise = regexp.MustCompile(`(?i)\((r|tm)\)|\b(processor|cpu)\b|\s*@.*|[^a-z0-9]+`)

// page is the name of a machine's page.
func (m Machine) page() string {
	name := strings.ToLower(strings.Join(strings.Fields(noise.ReplaceAllString(m.CPU, " ")), "-"))
	return fmt.Sprintf("benchmarks-%s-%d.md", name, m.CPUs)
}

// tables renders the sections of a machine, in the order of records: of each
// package and job the latest commit that has at least half of its blocks. A
// measurement that has just begun replaces nothing.
func tables(records []record, m Machine) (string, error) {
	type source struct {
		job job
		pkg string
	}
	counts, latest := map[unit]int{}, map[source]unit{}
	var jobs []job
	for _, r := range records {
		if r.hardware() != m {
			continue
		}
		if r.Job.Variant != modelVariant && !slices.Contains(jobs, r.Job) {
			jobs = append(jobs, r.Job)
		}
		all := r.allBlocks()
		if counts[all]++; 2*counts[all] >= r.Job.Blocks {
			latest[source{r.Job, r.Pkg}] = all
		}
	}
	var b strings.Builder
	for _, j := range jobs {
		results := newResults(j)
		for _, r := range records {
			if from := latest[source{j, r.Pkg}]; r.Job != j || r.allBlocks() != from {
				continue
			}
			if err := results.add(r); err != nil {
				return "", err
			}
		}
		results.writeSections(&b)
	}
	return b.String(), nil
}

// page puts the head and the summary above sections.
func page(m Machine, sections string) string {
	return summarize(fmt.Sprintf(`%s

Measured by %s on %s, %d CPUs. A ratio is ours/peer: the median of ratios paired by block, with its 95 %% bootstrap
interval; each section names the figure. Below 1, ours costs less. The suffix -N of a name is GOMAXPROCS.
`, title, "`make bench`", m.CPU, m.CPUs) + sections)
}

var sectionHead = regexp.MustCompile(`(?m)^## .+$`)

// cutSections splits a page, from its first section on, into sections by head.
func cutSections(text string) (heads []string, by map[string]string) {
	by = map[string]string{}
	at := sectionHead.FindAllStringIndex(text, -1)
	for i, from := range at {
		to := len(text)
		if i+1 < len(at) {
			to = at[i+1][0]
		}
		head := text[from[0]:from[1]]
		heads = append(heads, head)
		by[head] = strings.TrimSpace(text[from[0]:to]) + "\n"
	}
	return heads, by
}

// replaceSections returns the sections of a page with those measured in place of
// the same ones, or behind.
func replaceSections(old, measured string) string {
	heads, by := cutSections(old)
	more, now := cutSections(measured)
	for _, head := range more {
		if by[head] == "" {
			heads = append(heads, head)
		}
		by[head] = now[head]
	}
	var b strings.Builder
	for _, head := range heads {
		b.WriteString("\n" + by[head])
	}
	return b.String()
}
