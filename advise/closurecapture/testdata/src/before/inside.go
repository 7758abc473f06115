package before

type connection struct {
	tasks chan func()
	state int
}

// The literal that is started holds what it calls.
func (c *connection) process(ready func() bool, do func()) {
	task := func() { // want `captures ready, do and is allocated`
		for ready() {
			do()
		}
	}
	c.tasks <- task
}

func (c *connection) request(n int) {
	c.process(
		func() bool { return c.state < n }, // want `captures c, n and is allocated`
		func() { c.state++ },               // want `captures c and is allocated`
	)
}
