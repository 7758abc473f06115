package after

type Node struct{ id int64 }

type Metadata struct{ author string }

var byID = map[int64]Metadata{}

func annotateID(n *Node, author string) { byID[n.id] = Metadata{author} }
