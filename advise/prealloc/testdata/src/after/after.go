package after

func mapInts(in []int, f func(int) int) []int {
	out := make([]int, 0, len(in))
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}

func mapExact(in []int, f func(int) int) []int {
	out := make([]int, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}
