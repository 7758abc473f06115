package after

import "time"

type Metadata struct {
	CreatedAt time.Time
	Author    string
}

type Node struct {
	ID   int64
	Name string
}

type NodeStore struct {
	nodes []Node
	meta  map[int64]Metadata // only populated for nodes that need it
}

func (s *NodeStore) Add(id int64, name string, author string) {
	s.nodes = append(s.nodes, Node{ID: id, Name: name})
	if author != "" {
		s.meta[id] = Metadata{CreatedAt: time.Now(), Author: author}
	}
}

type Inline struct {
	ID        int64
	Name      string
	CreatedAt time.Time // zero value = "no metadata"
	Author    string    // ""    = "no metadata"
}

func (n *Inline) HasMeta() bool { return !n.CreatedAt.IsZero() }

func newNode(id int64, name, author string) *Inline {
	return &Inline{ID: id, Name: name, CreatedAt: time.Now(), Author: author}
}
