package before

// The number of rounds bounds the length: a profile must say whether it is near.
func filter(in []int) []int {
	var out []int // want `out grows as a slice with the rounds over in`
	for _, x := range in {
		if x > 0 {
			out = append(out, x)
		}
	}
	return out
}

func skipping(in []int) []int {
	var out []int // want `out grows as a slice`
	for _, x := range in {
		if x < 0 {
			continue
		}
		out = append(out, x)
	}
	return out
}

func first(n int) (out []int, seen map[int]bool) {
	list := []int{} // want `list grows as a slice with the rounds over n`
	for i := 0; i < n; i++ {
		list = append(list, i)
	}
	found := map[int]bool{} // want `found grows as a map with the rounds over list`
	for _, x := range list {
		found[x] = true
	}
	return list, found
}

func above(in []int, on bool) []int {
	out := make([]int, 0) // want `out grows as a slice`
	if on {
		for i := range in {
			out = append(out, in[i])
		}
	}
	return out
}

func nested(lists [][]int) []int {
	var out []int // want `out grows as a slice with the rounds over in`
	for _, in := range lists {
		for _, x := range in {
			if x > 0 {
				out = append(out, x)
			}
		}
	}
	return out
}

type table struct{ entries map[string]int }

func (t *table) Len() int { return len(t.entries) }

func (t *table) Range(f func(string, int) bool) {
	for k, v := range t.entries {
		f(k, v)
	}
}

func visited(t *table) map[string]int {
	out := make(map[string]int) // want `allocate the size that t.Len\(\) gives first`
	t.Range(func(k string, v int) bool {
		out[k] = v
		return true
	})
	return out
}
