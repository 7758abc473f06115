package whennot

type amountError struct{ got int64 }

func (e *amountError) Error() string { return "bad amount" }

var ErrBadAmount = &amountError{}

func init() { ErrBadAmount.got = -1 }

func validate(c int64) error {
	e := &amountError{}
	e.got = c
	copied := *ErrBadAmount
	copied.got = c
	return e
}

var state struct{ n int }

func count() { state.n++ }
