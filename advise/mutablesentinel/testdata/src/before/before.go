package before

type amountError struct {
	got  int64
	seen int
}

func (e *amountError) Error() string { return "bad amount" }

var ErrBadAmount = &amountError{}

func validate(c int64) error {
	if c <= 0 {
		ErrBadAmount.got = c // want `ErrBadAmount is shared by all who return it`
		ErrBadAmount.seen++  // want `shared`
		return ErrBadAmount
	}
	return nil
}

var ErrOther error = &amountError{}

func other() error {
	ErrOther.(*amountError).seen = 3 // want `ErrOther is shared`
	e := ErrBadAmount
	e.got = 1 // want `ErrBadAmount is shared`
	return e
}
