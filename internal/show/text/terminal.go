package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/lab/stat"
)

// An ink is how a piece of text looks on a terminal: an SGR parameter.
type ink string

const (
	plainInk ink = ""
	bold     ink = "1"
	dim      ink = "2"
	green    ink = "32"
	red      ink = "31"
	yellow   ink = "33"
)

// verdictInk is the colour of a verdict; its text says the same.
func verdictInk(v stat.Verdict) ink {
	switch v {
	case stat.Better:
		return green
	case stat.Worse:
		return red
	case stat.Inconclusive, stat.Disagreement:
		return yellow
	}
	return dim
}

// A terminal collects output for a terminal.
type terminal struct {
	strings.Builder
	style Style
}

// paint returns s in the given ink, or s itself without colour.
func (p *terminal) paint(i ink, s string) string {
	if i == plainInk || !p.style.Color || strings.TrimSpace(s) == "" {
		return s
	}
	return "\x1b[" + string(i) + "m" + s + "\x1b[0m"
}

func (p *terminal) line(i ink, format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	p.WriteString(p.paint(i, text))
	p.WriteByte('\n')
}

// paragraph writes text with its words wrapped. The first line begins with
// lead, the others are indented to match.
func (p *terminal) paragraph(lead, text string) {
	indent := utf8.RuneCountInString(lead)
	line, column := lead, indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if i > 0 {
			if column+1+n > p.style.width() {
				p.line(plainInk, "%s", line)
				line, column = strings.Repeat(" ", indent), indent
			} else {
				line, column = line+" ", column+1
			}
		}
		line, column = line+word, column+n
	}
	p.line(plainInk, "%s", line)
}

// rangeNote explains the mark on figures that are ranges.
func (p *terminal) rangeNote(marked bool) {
	if marked {
		p.paragraph("* ", "too few repetitions for an interval: the range of all values")
	}
}

// A table is plain text. The first column names the row and is repeated if the
// table is too wide for the page.
type table struct {
	head []string
	left int // number of left-aligned columns; the rest is aligned right
	rows [][]entry
}

type entry struct {
	text string
	ink  ink
}

func (t *table) add(cells ...entry) { t.rows = append(t.rows, cells) }

func (t *table) addPlain(cells ...string) {
	row := make([]entry, len(cells))
	for i, c := range cells {
		row[i].text = c
	}
	t.add(row...)
}

// marked reports whether a figure of the table is a range instead of an
// interval.
func (t *table) marked() bool {
	return slices.ContainsFunc(t.rows, func(row []entry) bool {
		return slices.ContainsFunc(row[t.left:], func(c entry) bool { return strings.Contains(c.text, "%*") })
	})
}

const gutter = 2

// print writes the table, in as many parts as the width requires.
func (t *table) print(p *terminal) {
	widths := make([]int, len(t.head))
	for i, h := range t.head {
		widths[i] = utf8.RuneCountInString(h)
	}
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	// A name may take half of the page, which leaves room for figures.
	widths[0] = min(widths[0], max(12, p.style.width()/2))
	for first := 1; first < len(t.head) || first == 1; {
		end, used := first, widths[0]
		for end < len(t.head) && (end == first || used+gutter+widths[end] <= p.style.width()) {
			used += gutter + widths[end]
			end++
		}
		t.printColumns(p, widths, first, end)
		first = max(end, first+1)
	}
}

// printColumns writes the first column and those from first to end.
func (t *table) printColumns(p *terminal, widths []int, first, end int) {
	write := func(row []entry) {
		var line strings.Builder
		for i, c := range row {
			if i > 0 && (i < first || i >= end) {
				continue
			}
			text := c.text
			if i == 0 {
				text = Shorten(text, widths[0])
			} else {
				line.WriteString(strings.Repeat(" ", gutter))
			}
			fill := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
			if i < t.left {
				line.WriteString(p.paint(c.ink, text) + fill)
			} else {
				line.WriteString(fill + p.paint(c.ink, text))
			}
		}
		p.WriteString(strings.TrimRight(line.String(), " "))
		p.WriteByte('\n')
	}
	head := make([]entry, len(t.head))
	for i, h := range t.head {
		head[i] = entry{h, dim}
	}
	write(head)
	for _, row := range t.rows {
		write(row)
	}
}
