package before

func cubes(n int) []int {
	out := make([]int, 0, n)
	for i := range n {
		out = append(out, i*i)
	}
	return out
}

func Sum(n int) (sum int) {
	for _, x := range cubes(n) { // want `cubes allocates a slice that is done with soon after`
		sum += x
	}
	return sum
}
