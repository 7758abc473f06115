package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A tally counts the verdicts on one peer in the tables of one package.
type tally struct {
	pkg, peer            string
	better, same, worse  int
	ratios               []float64
	worst                float64
	worstRow, worstRange string
	lostMost             float64 // the worst ratio with the verdict worse
	lostRow              string
}

func (t *tally) add(row, interval, verdict string, ratio float64) {
	switch verdict {
	case "better":
		t.better++
	case "worse":
		t.worse++
		if ratio > t.lostMost {
			t.lostMost, t.lostRow = ratio, row
		}
	default:
		t.same++
	}
	t.ratios = append(t.ratios, ratio)
	if len(t.ratios) == 1 || ratio > t.worst {
		t.worst, t.worstRow, t.worstRange = ratio, row, interval
	}
}

func (t *tally) median() float64 { return median(t.ratios) }

// title begins the first line of a page; its packages follow.
const title = "# Ours against peers"

// summaryHead begins the summary; summarize puts it above the first package.
const summaryHead = "\n| package | peer | rows | better | no difference shown | worse |" +
	" median ratio | worst ratio | in |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |\n"

// summarize names the packages of a page in its title, and puts a table of all
// peers above its tables, in place of one that is there. It reads the rows of
// the page itself, so that the summary cannot say anything else.
func summarize(page string) string {
	first := strings.Index(page, "\n## ")
	if first < 0 {
		return page
	}
	head, tables := page[:first], page[first:]
	if at := strings.Index(head, summaryHead); at >= 0 {
		head = head[:at]
	}
	var packages []string
	for _, head := range sectionHead.FindAllString(tables, -1) {
		packages = append(packages, strings.TrimPrefix(head, "## "))
	}
	_, rest, _ := strings.Cut(head, "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s%s", title, strings.Join(packages, ", "), rest, summaryHead)
	for _, t := range tallies(tables) {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %.3g | %.3g %s | %s |\n", t.pkg, t.peer, len(t.ratios),
			t.better, t.same, t.worse, t.median(), t.worst, t.worstRange, t.worstRow)
	}
	return b.String() + tables
}

// tallies reads the tables of a page, in their order.
func tallies(tables string) []*tally {
	var all []*tally
	var pkg, row string
	for _, line := range strings.Split(tables, "\n") {
		switch {
		case strings.HasPrefix(line, "## "):
			pkg = line[len("## "):]
		case strings.HasPrefix(line, "### "):
			row = line[len("### "):]
		case strings.HasPrefix(line, "| "):
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			if len(cells) < 5 {
				continue
			}
			last := cells[len(cells)-3:]
			number, _, _ := strings.Cut(last[0], " ")
			ratio, err := strconv.ParseFloat(number, 64)
			if err != nil || !strings.HasPrefix(last[1], "[") {
				continue // ours, or the head of a table
			}
			i := slices.IndexFunc(all, func(t *tally) bool { return t.pkg == pkg && t.peer == cells[0] })
			if i < 0 {
				i, all = len(all), append(all, &tally{pkg: pkg, peer: cells[0]})
			}
			all[i].add(row, last[1], last[2], ratio)
		}
	}
	return all
}
