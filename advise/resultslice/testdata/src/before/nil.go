package before

type indexes struct{ of []int }

func (x *indexes) into(dst []int, at int) []int { return append(dst, x.of[at:]...) }

func (x *indexes) From(at int) []int {
	return x.into(nil, at) // want `into of nil allocates a slice for each caller`
}
