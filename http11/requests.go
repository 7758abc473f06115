package http11

// Requests creates requests without a connection, with the memory modes and the
// parser of a Server, for measurements and custom transports. Create it with
// NewRequests; the zero value must not be used. It is safe for use by several
// goroutines; a Request is for one at a time.
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

// Begin returns an empty request. The first allocation acquires its memory.
func (s *Requests) Begin() Request {
	r := s.memory.acquire()
	return Request{r, r.open()}
}

// Parse parses the head at the start of data, which becomes part of the
// request: it must not change during the request. It returns the length of the
// head, or 0 if it is incomplete: call Parse again with data that begins with
// the same bytes. The error says which rule the head breaks; the request must
// then be ended. An ended request is refused with ErrEnded.
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

// Next ends the request and begins another in the memory that the mode leaves
// to a connection. It panics if the request has already ended.
func (s *Requests) Next(q Request) Request {
	if !q.r.enter(q.epoch, false) {
		panic(q.r.late("Next"))
	}
	r, _ := q.r.detach(nil)
	return Request{r, r.open()}
}

// End ends the request and releases its memory, unless it is retained. It
// panics if the request has already ended.
func (s *Requests) End(q Request) {
	if !q.r.enter(q.epoch, false) {
		panic(q.r.late("End"))
	}
	q.r.drop()
}

// Warm ensures that memory for n concurrent requests is ready.
func (s *Requests) Warm(n int) { s.memory.warm(n) }

// Stats returns the memory figures.
func (s *Requests) Stats() MemoryStats { return s.memory.stats() }

// Close releases the memory kept for further requests.
func (s *Requests) Close() { s.memory.close() }
