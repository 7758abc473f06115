package before

// The document's code.
func mapInts(in []int, f func(int) int) []int {
	var out []int // want `allocate that capacity first`
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}

type user struct {
	name string
	tags map[string]bool
}

func names(users []user) []string {
	// The names.
	list := []string{} // want `grows to the length of users`
	for _, u := range users {
		name := u.name
		list = append(list, name)
	}
	return list
}

func (u *user) keys() ([]string, error) {
	keys := make([]string, 0) // want `grows to the length of u.tags`
	for k, on := range u.tags {
		if !on {
			return nil, nil
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func all(lists [][]int) int {
	n := 0
	for _, l := range lists {
		n += len(mapInts(l, func(x int) int { return x }))
	}
	return n
}
