package before

import "time"

type Metadata struct {
	CreatedAt time.Time
	Author    string
}
type Node struct {
	ID   int64
	Name string
	Meta *Metadata // nil for 90% of nodes
}

// The document's code.
func newNode(id int64, name string, author string) *Node {
	return &Node{
		ID: id, Name: name,
		Meta: &Metadata{CreatedAt: time.Now(), Author: author}, // want `Node and its Meta are allocated apart`
	}
}

func (n *Node) Author() string {
	if n.Meta == nil {
		return ""
	}
	return n.Meta.Author
}
