package whennot

// Nothing says how often the loop appends in all: it runs in another one.
func nested(lists [][]int) []int {
	var out []int
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

func visited(u unsized) []int {
	var out []int
	u.Range(func(x int) bool {
		out = append(out, x)
		return true
	})
	return out
}

func until(next func() (int, bool)) []int {
	var out []int
	for x, ok := next(); ok; x, ok = next() {
		out = append(out, x)
	}
	return out
}

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

// The slice never leaves: it begins on the stack.
func local(in []int) (sum int) {
	var out []int
	for _, x := range in {
		out = append(out, x)
	}
	for i := range out {
		sum += out[i]
	}
	return sum
}

func channel(in chan int) []int {
	var out []int
	for x := range in {
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

func each(yield func(int) bool) { yield(1) }

func iterated() []int {
	var out []int
	for x := range each {
		out = append(out, x)
	}
	return out
}
