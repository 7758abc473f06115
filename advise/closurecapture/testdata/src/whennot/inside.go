package whennot

// The literal that calls them stays, and is called here.
func repeated(n int, do func(int)) {
	step := func(i int) { do(i) }
	for i := range n {
		step(i)
	}
}

func sums(list []int) (sum int) {
	repeated(len(list), func(i int) { sum += list[i] })
	return sum
}
