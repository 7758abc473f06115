package whennot

func filter(in []int) []int {
	var out []int
	for _, x := range in {
		if x > 0 {
			out = append(out, x)
		}
	}
	return out
}

func skipping(in []int) []int {
	var out []int
	for _, x := range in {
		if x < 0 {
			continue
		}
		out = append(out, x)
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
