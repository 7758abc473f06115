package before

type user struct {
	ID   uint64
	name string
}

var logins map[*user]int // want `the collector scans every key; put its number in its place`
