package before

import "errors"

type text string

func newText(s string) *text {
	t := text(s)
	return &t // want `each result is an allocation for one string; return it by value`
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
	return &a // want `each result is an allocation for one int64; return it by value`
}

// Callers of other packages only.
type Unit struct{ name string }

func NewUnit(name string) *Unit { return &Unit{name} } // want `each Unit is an allocation for one string`

type digest struct{ sum [20]byte }

func (d digest) first() byte { return d.sum[0] }

func newDigest(b []byte) (*digest, error) {
	var d digest
	if len(b) != len(d.sum) {
		return nil, errLength
	}
	copy(d.sum[:], b)
	return &d, nil // want `each result is an allocation for one`
}

var errLength = errors.New("length")

func level(s string) *int {
	n := len(s)
	switch s {
	case "none":
		n = 0
	}
	return &n // want `each result is an allocation for one int`
}
