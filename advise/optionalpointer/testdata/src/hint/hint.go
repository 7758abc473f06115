package hint

type pos struct{ line, col int }

// A method that only reads could be one of the value.
func (p *pos) Line() int { return p.line }

type tokens struct {
	last *pos
	all  []*pos
	out  chan *pos
}

func (t *tokens) position(line int) *pos {
	return &pos{line: line} // want `a pos is allocated to be returned by its address`
}

func (t *tokens) add(line int) {
	p := &pos{line: line} // want `a pos is allocated to be appended by its address`
	if line > 0 {
		p.col = 1
	}
	t.all = append(t.all, p)
}

func (t *tokens) listed(line int) []*pos {
	return []*pos{{line: line}} // want `a pos is allocated to be listed by its address`
}

func (t *tokens) send(line int) {
	t.out <- &pos{line: line} // want `a pos is allocated to be sent by its address`
}

type visitor interface{ visit(p *pos) }

func walk(v visitor, f func(*pos), line int) {
	v.visit(&pos{line, 0}) // want `a pos is allocated to be passed by its address`
	f(&pos{line, 0})       // want `a pos is allocated to be passed by its address`
}

// What is moved from one to the other is never written.
type expr struct{ at int }

type decl struct{ value *expr }

func newDecl(at int) *decl {
	return &decl{value: &expr{at}} // want `value is an allocation of its own`
}

func (d *decl) take(other *decl) { d.value = other.value }

// One after the other.
type cursor interface{ next() bool }

type array struct{ n int }

func (a *array) cursor() cursor { return newArrayCursor(a) }

type arrayCursor struct{ of *array }

func newArrayCursor(a *array) *arrayCursor { return &arrayCursor{of: a} }

func (c *arrayCursor) next() bool { return c.of.n > 0 }

type part interface{ cursor() cursor }

type whole struct {
	parts []part
	cur   cursor
	i     int
}

func (w *whole) step() {
	w.cur = w.parts[w.i].cursor() // want `cur is an allocation of its own each time`
	w.i++
}

// Returned here or there.
func (t *tokens) parse(line int) *pos {
	p := &pos{} // want `a pos is allocated to be returned by its address`
	if line == 0 {
		return p
	}
	p.line = line
	return p
}

// A map refers to its entries itself.
type scope struct {
	names *map[string]int
}

func newScope() *scope {
	names := map[string]int{}
	return &scope{names: &names} // want `names is an allocation of its own`
}
