package ingress

func init() {
	Register(&Kind{Name: "linked", Summary: "a lock-free list of nodes from a sync.Pool",
		New: func(Config) (Loop, error) { return start(newLinked[Task, padded](true), options{}), nil }})
}
