package before

import "syscall"

// Of any version: what may be held is allocated.
func threshold(n int) func(int) bool {
	return func(x int) bool { return x > n } // want `captures n and is allocated`
}

type server struct {
	onClose func()
	name    string
	calls   []func()
}

func (s *server) later(f func()) { s.calls = append(s.calls, f) }

func (s *server) close() { s.name = "" }

func (s *server) accept(name string, n int, queue chan func()) {
	s.onClose = func() { s.name = name } // want `captures s, name and is allocated`
	s.later(func() { println(n) })       // want `captures n and is allocated`
	s.later(s.close)                     // want `s.close is a closure`
	done := func() { println(name) }     // want `captures name and is allocated`
	s.later(done)
	queue <- func() { s.close() } // want `captures s and is allocated`
}

type walker interface{ Walk(f func(int)) }

func one(r walker) (sum int) {
	r.Walk(func(x int) { sum += x }) // want `the function literal writes to sum`
	return sum
}

func read(c syscall.RawConn) (n int) {
	c.Read(func(fd uintptr) bool { // want `the function literal writes to n`
		n++
		return true
	})
	return n
}
