package before

// Go 1.26: the values escape.
type UserID struct{ v int64 }

func NewUserID(v int64) *UserID { return &UserID{v: v} }

var seen []*UserID

func handle(id *UserID) { seen = append(seen, id) }

// The document's code.
func loop(ids []int64) {
	for _, x := range ids {
		handle(NewUserID(x)) // want `each UserID is an allocation for one int64`
	}
}

type name struct{ s string }

//go:noinline
func newName(s string) *name { return &name{s} }

func length(n *name) int { return len(n.s) }

func lengths(list []string) (n int) {
	for _, s := range list {
		n += length(newName(s)) // want `each name is an allocation`
	}
	return n
}
