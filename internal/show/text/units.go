package text

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

func CleanAll(texts []string) []string { return mapped(texts, Clean) }

// Absent is shown for a missing figure.
const Absent = "–"

// UnitOf returns the unit of a metric. The metrics of imported benchmarks may
// be only a unit, such as "ns/op".
func UnitOf(metric string) string {
	if strings.Contains(metric, ":") {
		return cell.Unit(metric)
	}
	return metric
}

// Format formats a value of the metric with three significant digits and a unit
// that suits its size.
func Format(metric string, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Digits(v)
	}
	switch unit := UnitOf(metric); {
	case unit == "ns" || unit == "ns/op":
		return Duration(v)
	case unit == "seconds" || unit == "sec/op" || unit == "s":
		return Duration(v * 1e9)
	case unit == "bytes" || unit == "B" || unit == "B/op":
		return Bytes(v)
	case unit == "ratio":
		return Digits(v*100) + " %"
	case strings.HasSuffix(unit, "/s"):
		return Count(v) + "/s"
	}
	return Count(v)
}

// Exact formats a value with all its digits in the unit of the metric.
func Exact(metric string, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Digits(v)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if a := math.Abs(v); a >= 1e15 || a > 0 && a < 1e-9 {
		text = strconv.FormatFloat(v, 'g', -1, 64)
	}
	if unit := UnitOf(metric); unit != "" {
		text += " " + unit
	}
	return text
}

// A step is one unit of a ladder, used for values from its size upwards.
type step struct {
	size float64
	name string
}

var (
	durations = []step{{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}, {0, " ns"}}
	sizes     = []step{{1 << 40, " TiB"}, {1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {0, " B"}}
	counts    = []step{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e4, " k"}, {0, ""}}
)

func Duration(ns float64) string { return ladder(durations, ns) }

func Bytes(b float64) string { return ladder(sizes, b) }

func Count(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e4 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	if math.Abs(v) >= 1e3 && math.Abs(v) < 1e4 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return ladder(counts, v)
}

func ladder(steps []step, v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return Digits(v)
	}
	for _, s := range steps {
		// Half a digit early, so that 999.9 ns becomes 1.00 µs.
		if math.Abs(v) < s.size*0.9995 {
			continue
		}
		divisor := s.size
		switch {
		case divisor == 0:
			divisor = 1
		case s.name == " k":
			divisor = 1e3
		}
		return Digits(v/divisor) + s.name
	}
	return Digits(v)
}

// Digits formats v with three significant digits, and without an exponent if
// that is readable.
func Digits(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return Absent
	case math.IsInf(v, 1):
		return "∞"
	case math.IsInf(v, -1):
		return "-∞"
	case v == 0:
		return "0"
	case a >= 1e6:
		return strconv.FormatFloat(v, 'e', 2, 64)
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.0995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.001:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// Ratio formats a factor, for example "4.10×".
func Ratio(r float64) string {
	if math.IsNaN(r) {
		return Absent
	}
	return Digits(r) + "×"
}

// Interval formats an interval of a factor, for example "[3.90, 4.40]". An end is printed
// as 1 only if it is exactly 1, because the side of 1 on which it lies decides.
func Interval(lo, hi float64) string {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return ""
	}
	end := func(r float64) string {
		if text := Digits(r); text != "1.00" {
			return text
		}
		return stat.Distinct(r, 2, 1)
	}
	return "[" + end(lo) + ", " + end(hi) + "]"
}

// PValue formats a p value.
func PValue(p float64) string {
	switch {
	case !(p >= 0 && p <= 1):
		return Absent
	case p < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

var password = regexp.MustCompile(`(://[^\s:/@]*):[^\s/@]*@`)

// WithoutPasswords hides the passwords of the URLs in a text.
func WithoutPasswords(s string) string { return password.ReplaceAllString(s, "$1:xxxxx@") }

// Clean makes control characters visible, so that user text can neither move
// the cursor of a terminal nor hide anything.
func Clean(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) || r == utf8.RuneError {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// Shorten cuts s to at most n runes. If it was longer, the last is an ellipsis.
func Shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:n-1]), " ") + "…"
}

func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
