package before

import (
	"bytes"
	"strings"
)

// Nothing counts the rounds: the number must be estimated.
func drained(lists [][]int) []int {
	var out []int // want `out grows as a slice in a loop whose rounds nothing here counts`
	for len(lists) > 0 {
		for _, x := range lists[0] {
			if x > 0 {
				out = append(out, x)
			}
		}
		lists = lists[1:]
	}
	return out
}

type unsized struct{}

func (unsized) Range(f func(int) bool) {}

func ranged(u unsized) []int {
	var out []int // want `out grows as a slice as u.Range goes on; where the number`
	u.Range(func(x int) bool {
		out = append(out, x)
		return true
	})
	return out
}

func until(next func() (int, bool)) []int {
	var out []int // want `out grows as a slice in a loop whose rounds nothing here counts`
	for x, ok := next(); ok; x, ok = next() {
		out = append(out, x)
	}
	return out
}

// The slice never leaves: it begins on the stack.
func local(in []int) (sum int) {
	var out []int // want `out grows as a slice`
	for _, x := range in {
		out = append(out, x)
	}
	for i := range out {
		sum += out[i]
	}
	return sum
}

func channel(in chan int) []int {
	var out []int // want `out grows as a slice in a loop whose rounds nothing here counts`
	for x := range in {
		out = append(out, x)
	}
	return out
}

func each(yield func(int) bool) { yield(1) }

func iterated() []int {
	var out []int // want `out grows as a slice in a loop whose rounds nothing here counts`
	for x := range each {
		out = append(out, x)
	}
	return out
}

func several(a, b []int) []int {
	var all []int // want `all grows by several slices`
	all = append(all, a...)
	all = append(all, b...)
	return all
}

func begun(in []string) []string {
	args := []string{"-v"} // want `args grows as a slice with the rounds over in`
	for _, s := range in {
		if s != "" {
			args = append(args, "-x", s)
		}
	}
	return args
}

func result(in []int) (out []int, err error) {
	for i := len(in) - 1; i >= 0; i-- {
		if in[i] > 0 {
			out = append(out, in[i]) // want `out grows as a slice with the rounds over len\(in\) - 1`
		}
	}
	return out, nil
}

func text(in []string) (string, []byte) {
	var sb strings.Builder // want `sb grows with the rounds over in`
	buf := &bytes.Buffer{} // want `buf grows with the rounds over in`
	for _, s := range in {
		sb.WriteString(s)
		buf.WriteString(s)
	}
	return sb.String(), buf.Bytes()
}
