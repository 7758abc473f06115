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
