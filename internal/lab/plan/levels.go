package plan

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ParseLevels splits a flag value at its commas and expands ranges. Write \, for a
// comma within a value.
func ParseLevels(value string) ([]string, error) {
	var out []string
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == '\\' && i+1 < len(value) && value[i+1] == ',':
			b.WriteByte(',')
			i++
		case value[i] == ',':
			out = append(out, b.String())
			b.Reset()
		default:
			b.WriteByte(value[i])
		}
	}
	return ExpandRanges(append(out, b.String()))
}

// numberRange is a range of numbers with or without a unit: 100..20000/100,
// 64KiB..4MiB*2.
var numberRange = regexp.MustCompile(
	`^([0-9][0-9_.]*?)([A-Za-zµ]*)\.\.([0-9][0-9_.]*)([A-Za-zµ]*)([/*])([0-9][0-9_.]*)$`)

const maxLevels = 10_000

// ExpandRanges replaces each range with its numbers.
func ExpandRanges(all []string) ([]string, error) {
	var out []string
	for _, s := range all {
		m := numberRange.FindStringSubmatch(s)
		if m == nil {
			out = append(out, s)
			continue
		}
		values, err := expandRange(m)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		out = append(out, slices.Compact(values)...) // a small factor may round to the same number
	}
	return slices.Clip(out), nil
}

// expandRange returns the numbers of a range: LOW..HIGH/STEP adds the step,
// LOW..HIGH*FACTOR multiplies, for a logarithmic scale. The last number is at
// most HIGH. Both ends have the same unit, or none.
func expandRange(m []string) (out []string, err error) {
	low, err1 := number(m[1])
	high, err2 := number(m[3])
	step, err3 := number(m[6])
	add := m[5] == "/"
	if errors.Join(err1, err2, err3) != nil || m[2] != m[4] || high < low ||
		add && step <= 0 || !add && (step <= 1 || low <= 0) {
		return nil, errors.New("want LOW..HIGH/STEP or LOW..HIGH*FACTOR with one unit or none, such as " +
			"100..20000/100 or 50..12800*2")
	}
	whole := low == math.Trunc(low) && high == math.Trunc(high) && (!add || step == math.Trunc(step))
	for i := 0; ; i++ {
		v := low + float64(i)*step
		if !add {
			v = low * math.Pow(step, float64(i))
		}
		switch {
		case v > high*(1+1e-12):
			return out, nil
		case i == maxLevels:
			return nil, fmt.Errorf("more than %d values: take a larger step", maxLevels)
		case whole:
			v = math.Round(v)
		}
		out = append(out, strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)+m[2])
	}
}

func number(s string) (float64, error) { return strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64) }
