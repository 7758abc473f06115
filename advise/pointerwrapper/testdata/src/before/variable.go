package before

type text string

func newText(s string) *text {
	t := text(s)
	return &t // want `each text is an allocation for one string; return it by value`
}

type amount struct{ cents int64 }

func newAmount(cents int64) (*amount, error) {
	var a amount
	a.cents = cents
	if cents < 0 {
		return nil, nil
	}
	return newText2(cents), nil
}

func newText2(cents int64) *amount {
	a := amount{cents}
	return &a // want `each amount is an allocation for one int64; return it by value`
}

// Callers of other packages only.
type Unit struct{ name string }

func NewUnit(name string) *Unit { return &Unit{name} } // want `each Unit is an allocation for one string`
