package after

type Node struct{ id int64 }

type Metadata struct{ author string }

var meta = map[*Node]Metadata{}

func annotate(n *Node, author string) {
	meta[n] = Metadata{author}
}

func drop(n *Node) { delete(meta, n) }

var byID = map[int64]Metadata{}

func annotateID(n *Node, author string) { byID[n.id] = Metadata{author} }
