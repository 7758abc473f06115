package stat

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

var number = regexp.MustCompile(`\d+(\.\d+)?`)

// A kindred collects warnings with one code whose texts differ only in their
// numbers, so that fifty cells with fifty values of steal make one line.
type kindred struct {
	code     string
	between  []string // text around the numbers, one more than those
	low      []string // smallest and largest of each number, as written
	high     []string
	lowValue []float64
	topValue []float64
	records  int
}

// A gather groups warnings. Its zero value is ready to use.
type gather struct{ kinds map[string]*kindred }

func (g *gather) add(w cell.Warning) {
	numbers := number.FindAllString(w.Text, -1)
	key := w.Code + "\x00" + number.ReplaceAllString(w.Text, "#")
	k := g.kinds[key]
	if k == nil {
		k = &kindred{code: w.Code, between: number.Split(w.Text, -1)}
		if g.kinds == nil {
			g.kinds = map[string]*kindred{}
		}
		g.kinds[key] = k
	}
	k.records++
	for i, n := range numbers {
		v, _ := strconv.ParseFloat(n, 64) // the pattern admits only numbers
		if i == len(k.low) {
			k.low, k.high = append(k.low, n), append(k.high, n)
			k.lowValue, k.topValue = append(k.lowValue, v), append(k.topValue, v)
		}
		if v < k.lowValue[i] {
			k.low[i], k.lowValue[i] = n, v
		}
		if v > k.topValue[i] {
			k.high[i], k.topValue[i] = n, v
		}
	}
}

func (g *gather) all() []CountedWarning {
	out := make([]CountedWarning, 0, len(g.kinds))
	for _, k := range g.kinds {
		var text strings.Builder
		text.WriteString(k.between[0])
		for i := range k.low {
			text.WriteString(k.low[i])
			if k.low[i] != k.high[i] {
				text.WriteString(" to " + k.high[i])
			}
			text.WriteString(k.between[i+1])
		}
		out = append(out, CountedWarning{cell.Warning{Code: k.code, Text: text.String()}, k.records})
	}
	return out
}
