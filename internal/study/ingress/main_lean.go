package ingress

func init() {
	Register(&Kind{Name: "main-lean",
		Summary: "the document's third option for Main: less clearing, padding, a signal only for a loop that sleeps",
		New: func(Config) (Loop, error) {
			return start(newChunks[Task, padded](true), options{}), nil
		}})
}
