package before

type account struct {
	seq  int
	name string
}

type session struct{ name string }

func (s *session) Handle() uint32 { return 1 }

type sessions map[*session]bool

type balances struct {
	of map[struct { // want `the collector scans every key, for its who; put who.seq in its place`
		who *account
		day int
	}]int
}
