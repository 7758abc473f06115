package whennot

type big struct{ data [256]byte }
type shared struct{ n int }
type link struct{ next *tree }

type tree struct {
	b *big
	s *shared
	n *link
}

var common = &shared{1}

func make1() *tree {
	return &tree{b: &big{}, s: &shared{}, n: &link{}}
}

func make2() *tree { return &tree{s: common} }

type view struct{ n *int }

var total int

func views(p *int) []view { return []view{{n: p}, {n: &total}} }

type single struct{ q *shared }

var one = &single{q: &shared{}}

func sharedPart() *shared { return common }

func make4() *tree { return &tree{s: sharedPart()} }
