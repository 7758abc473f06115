package ingress

func init() {
	Register(&Kind{Name: "main-arena",
		Summary: "the document's first option for Main: tasks in an arena, their addresses in the chunks",
		New: func(c Config) (Loop, error) {
			return start(newCelled(newChunks[*cell, tight](false), c.Producers), options{eager: true}), nil
		}})
}
