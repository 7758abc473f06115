package whennot

type shape interface{ area() int }

type square struct{ side *int }

func (s square) area() int { return *s.side }

type circle struct{ r int }

func (c *circle) area() int { return c.r }

type empty struct{}

func (empty) area() int { return 0 }

var shapes []shape

func add(s shape) { shapes = append(shapes, s) }

// One pointer, or nothing, is held as it is.
func all(squares []square, circles []*circle) {
	for _, s := range squares {
		add(s)
		add(empty{})
		shapes = append(shapes, shape(s))
	}
	for _, c := range circles {
		add(c)
	}
}

// The type is asked for at once: nothing is kept.
func kind[T any](values []T) (n int) {
	for _, v := range values {
		if _, ok := any(v).(int); ok {
			n++
		}
	}
	return n
}

var debug bool

func traceEnabled() bool { return debug }

// Only where more is asked for.
func debugging(n int) {
	if debug {
		log("n", n)
	}
	if traceEnabled() {
		log("n", n)
	}
}
