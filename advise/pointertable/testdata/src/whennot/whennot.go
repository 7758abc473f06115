package whennot

type Node struct{ id int64 }

var known = map[*Node]bool{}

var root = &Node{}

func init() { known[root] = true }

var cleared = map[*Node]bool{}

func mark(n *Node) { cleared[n] = true }

func sweep() { clear(cleared) }

func visit(nodes []*Node) int {
	seen := map[*Node]bool{}
	for _, n := range nodes {
		seen[n] = true
	}
	return len(seen)
}

type Metadata struct{ author string }

var meta = map[*Node]Metadata{}

func annotate(n *Node, author string) {
	meta[n] = Metadata{author}
}

func drop(n *Node) { delete(meta, n) }
