package hint

type tenant struct {
	ID   uint64
	name string
}

type named struct {
	tenant *tenant
	name   string
}

type route struct {
	host any
	port int
}

type table struct {
	byName  map[named]*tenant // want `keys hold name, which every look-up hashes`
	routes  map[route]int     // want `keys hold host, which every look-up hashes`
	chosen  map[*string]int   // want `keys are addresses of single values`
	byText  map[string]int
	objects map[*tenant]*tenant // want `the collector scans every key, beside the values; put its number in its place, as in key.ID`
}

func (t *table) choose(text *string) {
	if t.chosen == nil {
		t.chosen = make(map[*string]int)
	}
	t.chosen[text] = len(t.chosen)
}
