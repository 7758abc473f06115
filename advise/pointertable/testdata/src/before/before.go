package before

type Node struct{ id int64 }

type Metadata struct{ author string }

var meta = map[*Node]Metadata{} // want `never deleted`

func annotate(n *Node, author string) {
	meta[n] = Metadata{author}
}

func author(n *Node) string { return meta[n].author }
