package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
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
