package ingress

func init() {
	// A buffered channel of 8,192 tasks; when it is full, producers wait.
	Register("channel", func(Config) (Loop, error) {
		c := &channel{tasks: make(chan Task, 8192), done: make(chan struct{})}
		go c.run()
		return c, nil
	})
}

// channel is the loop that one writes without further thought.
type channel struct {
	tasks chan Task
	done  chan struct{} // closed when the loop has ended
}

func (c *channel) run() {
	defer close(c.done)
	for t := range c.tasks {
		t()
	}
}

func (c *channel) Submit(_ int, t Task) { c.tasks <- t }

func (c *channel) SubmitBatch(_ int, ts []Task) {
	for _, t := range ts {
		c.tasks <- t
	}
}

func (c *channel) Close() error {
	close(c.tasks)
	<-c.done
	return nil
}
