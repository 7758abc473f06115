package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The table of all machines stands between these lines of README.md.
const (
	frontBegin = "<!-- by go run ./cmd/ratios from the pages of the machines -->\n"
	frontEnd   = "<!-- end -->\n"
)

// writeFront writes the table of all machines into README.md of dir.
func writeFront(dir string) error {
	file := filepath.Join(dir, "README.md")
	index, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	whole, err := withFront(string(index), dir)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(whole), 0o644)
}

// withFront returns the index with the table of the pages in dir.
func withFront(index, dir string) (string, error) {
	before, rest, ok := strings.Cut(index, frontBegin)
	_, after, ends := strings.Cut(rest, frontEnd)
	if !ok || !ends {
		return "", fmt.Errorf("README.md has no lines %q and %q", frontBegin, frontEnd)
	}
	files, err := filepath.Glob(filepath.Join(dir, "benchmarks-*.md"))
	if err != nil {
		return "", err
	}
	var pages []machinePage
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		pages = append(pages, readPage(filepath.Base(file), strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	return before + frontBegin + front(pages) + frontEnd + after, nil
}

// A machinePage is what the page of a machine says.
type machinePage struct {
	file, machine string
	by            map[string][]*tally // package -> peers
}

var onMachine = regexp.MustCompile(`(?m) on (.+, \d+ CPUs)\.`)

func readPage(file, text string) machinePage {
	p := machinePage{file: file, machine: file, by: map[string][]*tally{}}
	if m := onMachine.FindStringSubmatch(text); m != nil {
		p.machine = m[1]
	}
	for _, t := range tallies(text) {
		if !strings.HasPrefix(t.peer, bound) {
			p.by[t.pkg] = append(p.by[t.pkg], t)
		}
	}
	return p
}

// front is a table with a row for each package: its best peer, the median ratio
// to it on each machine, and the rows that are lost to any peer.
func front(pages []machinePage) string {
	var b strings.Builder
	b.WriteString("| package | best peer |")
	packages := map[string]bool{}
	for _, p := range pages {
		fmt.Fprintf(&b, " [%s](%s) | lost there |", p.machine, p.file)
		for pkg := range p.by {
			packages[pkg] = true
		}
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- | --- |", len(pages)) + "\n")
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		peer := bestPeer(pages, pkg)
		fmt.Fprintf(&b, "| %s | %s |", pkg, peer)
		for _, p := range pages {
			ratio := ""
			for _, t := range p.by[pkg] {
				if t.peer == peer {
					ratio = fmt.Sprintf("%.3g", t.median())
				}
			}
			fmt.Fprintf(&b, " %s | %s |", ratio, lost(p.by[pkg]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// bestPeer is the peer with the largest median ratio over all machines, among
// those that are in at least a third as many rows as the one in most.
func bestPeer(pages []machinePage, pkg string) string {
	ratios := map[string][]float64{}
	most := 0
	for _, p := range pages {
		for _, t := range p.by[pkg] {
			ratios[t.peer] = append(ratios[t.peer], t.ratios...)
			most = max(most, len(ratios[t.peer]))
		}
	}
	var peers []*tally
	for peer, r := range ratios {
		if 3*len(r) >= most {
			peers = append(peers, &tally{peer: peer, ratios: r})
		}
	}
	return slices.MaxFunc(peers, func(a, b *tally) int {
		return cmp.Or(cmp.Compare(a.median(), b.median()), -cmp.Compare(a.peer, b.peer))
	}).peer
}

// lost says how many rows of a package are worse than a peer's, and the worst.
func lost(peers []*tally) string {
	rows, worse := 0, 0
	var worst *tally
	for _, t := range peers {
		rows += len(t.ratios)
		worse += t.worse
		if t.worse > 0 && (worst == nil || t.lostMost > worst.lostMost) {
			worst = t
		}
	}
	switch {
	case rows == 0:
		return ""
	case worst == nil:
		return fmt.Sprintf("0 of %d", rows)
	}
	return fmt.Sprintf("%d of %d; %.3g of %s in %s", worse, rows, worst.lostMost, worst.peer, worst.lostRow)
}
