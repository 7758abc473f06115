package http11

// Requests makes requests without a connection, with the memory modes and the
// parser of a Server: for measuring them, and for transports of one's own. It
// is made by NewRequests and is safe for use by several goroutines; a Request
// is for one at a time.
type Requests struct {
	memory *memory
	lim    limits
}

// NewRequests returns Requests with that memory and a Server's default limits.
func NewRequests(config Memory) (*Requests, error) {
	m, err := newMemory(config)
	if err != nil {
		return nil, err
	}
	return &Requests{m, limits{}.withDefaults()}, nil
}

// Begin returns an empty request. Its memory is acquired when something is
// allocated.
func (s *Requests) Begin() Request {
	r := s.memory.acquire()
	return Request{r, r.open()}
}

// Parse parses the head at the start of data, which becomes part of the
// request: it must not change as long as the request lasts. It returns the
// length of the head, or 0 if there is more to come: call Parse again with data
// that begin with the same bytes. The error says which rule the head breaks; the
// request must then be ended. A request that has ended is refused by ErrEnded.
func (s *Requests) Parse(q Request, data []byte) (int, error) {
	if !q.r.enter(q.epoch, false) {
		return 0, q.r.late("Parse")
	}
	defer q.r.pass()
	n, err := parseHead(&q.r.head, data, &s.lim)
	if n > 0 {
		q.r.base[baseHead], q.r.base[baseQuery] = data[:n:n], nil
	}
	return n, err
}

// Next ends the request and begins another in the memory that the mode leaves to
// a connection. It panics when the request has ended before.
func (s *Requests) Next(q Request) Request {
	if !q.r.enter(q.epoch, false) {
		panic(q.r.late("Next"))
	}
	r, _ := q.r.detach(nil)
	return Request{r, r.open()}
}

// End ends the request and gives its memory back, unless it is retained. It
// panics when the request has ended before.
func (s *Requests) End(q Request) {
	if !q.r.enter(q.epoch, false) {
		panic(q.r.late("End"))
	}
	q.r.drop()
}

// Warm makes sure that n requests at a time find their memory at hand.
func (s *Requests) Warm(n int) { s.memory.warm(n) }

// Stats returns the figures of the memory.
func (s *Requests) Stats() MemoryStats { return s.memory.stats() }

// Close gives back the memory that is kept for further requests.
func (s *Requests) Close() { s.memory.close() }
