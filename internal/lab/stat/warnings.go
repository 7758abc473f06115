package stat

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

var number = regexp.MustCompile(`\d+(\.\d+)?`)

// A kindred collects warnings of one code whose texts differ only in numbers, so that fifty cells
// with fifty values of steal make one line.
type kindred struct {
	code    string
	between []string // the texts around the numbers, one more than there are numbers
	spans   []span   // one per number
	records int
}

// A span is the least and the greatest value of a number, also as written.
type span struct {
	low, high   string
	least, most float64
}

// A gather groups warnings.
type gather map[string]*kindred

func (g gather) add(w cell.Warning) {
	key := w.Code + "\x00" + number.ReplaceAllString(w.Text, "#")
	k := g[key]
	if k == nil {
		k = &kindred{code: w.Code, between: number.Split(w.Text, -1)}
		g[key] = k
	}
	k.records++
	for i, n := range number.FindAllString(w.Text, -1) {
		v, _ := strconv.ParseFloat(n, 64) // the pattern admits only numbers
		if i == len(k.spans) {
			k.spans = append(k.spans, span{n, n, v, v})
		}
		s := &k.spans[i]
		if v < s.least {
			s.low, s.least = n, v
		}
		if v > s.most {
			s.high, s.most = n, v
		}
	}
}

func (g gather) all() []CountedWarning {
	out := make([]CountedWarning, 0, len(g))
	for _, k := range g {
		var text strings.Builder
		text.WriteString(k.between[0])
		for i, s := range k.spans {
			text.WriteString(s.low)
			if s.low != s.high {
				text.WriteString(" to " + s.high)
			}
			text.WriteString(k.between[i+1])
		}
		out = append(out, CountedWarning{cell.Warning{Code: k.code, Text: text.String()}, k.records})
	}
	return out
}
