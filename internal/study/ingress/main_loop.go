package ingress

func init() {
	Register(&Kind{Name: "main", Summary: "the document's Main: chunks under a mutex, a signal with every submission",
		New: func(Config) (Loop, error) {
			return start(newChunks[Task, tight](false), options{eager: true}), nil
		}})
}
