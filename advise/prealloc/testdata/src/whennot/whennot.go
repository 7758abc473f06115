package whennot

import "strings"

func sized(in []int) map[int]bool {
	seen := make(map[int]bool, len(in))
	for _, x := range in {
		seen[x] = true
	}
	return seen
}

func fixed(in []int) map[string]int {
	sums := map[string]int{}
	for _, x := range in {
		sums["all"] = x
	}
	return sums
}

func given(out []int, in []int) []int {
	for _, x := range in {
		if x > 0 {
			out = append(out, x)
		}
	}
	return out
}

func few() []int {
	var out []int
	for _, x := range [3]int{1, 2, 3} {
		out = append(out, x)
	}
	return out
}

var table []int

func init() {
	var out []int
	for _, x := range table {
		out = append(out, x)
	}
	table = out
}

// A size that was said is enough, and so is one append of each.
func guessed(in chan int, a, b []int) []int {
	out := make([]int, 0, 16)
	for x := range in {
		out = append(out, x)
	}
	one := append([]int(nil), a...)
	for len(one) < 3 {
		one = append(one, 1)
		break
	}
	return append(out, one...)
}

func grown(in []string) string {
	var sb, few strings.Builder
	sb.Grow(100)
	for _, s := range in {
		sb.WriteString(s)
	}
	for range 3 {
		few.WriteString("x")
	}
	return sb.String() + few.String()
}

// What is never known is not estimated for maps.
func unknown(in chan int) map[int]bool {
	seen := map[int]bool{}
	for x := range in {
		seen[x] = true
	}
	return seen
}

func once(f func() int) []int {
	var out []int
	out = append(out, f())
	return append(out, f())
}

type sums struct{ total map[string]int }

func (s *sums) reset(in []int) {
	s.total = map[string]int{}
	for _, x := range in {
		s.total["all"] += x
	}
	s.total[""] = 0
}

type cell struct{ texts [9]string }

// Entries above 128 bytes are allocated apart, whatever the size of the map.
func cells(texts []string) map[string]cell {
	all := make(map[string]cell)
	for _, text := range texts {
		all[text] = cell{[9]string{text}}
	}
	return all
}
