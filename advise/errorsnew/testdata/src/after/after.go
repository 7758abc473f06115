package after

import "errors"

var ErrBadAmount = errors.New("amount must be positive")

func validateAmount(c int64) error {
	if c <= 0 {
		return ErrBadAmount
	}
	return nil
}
