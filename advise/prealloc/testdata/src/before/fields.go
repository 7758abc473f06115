package before

type index struct {
	byName map[string]user
	names  []string
}

func (x *index) load(users []user) {
	x.byName = make(map[string]user) // want `x.byName grows with the rounds over users`
	x.names = []string{}             // want `x.names grows with the rounds over users`
	for _, u := range users {
		x.byName[u.name] = u
		if u.name != "" {
			x.names = append(x.names, u.name)
		}
	}
}

func copied(m map[string]int, on bool) (out map[string]int) {
	if on {
		out = make(map[string]int) // want `out grows with the rounds over m`
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}
