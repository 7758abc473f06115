//go:build go1.23

package before

import "errors"

// The document's code, at the version that it is anchored at.
func validateAmount(c int64) error {
	if c <= 0 {
		return errors.New("amount must be positive") // want `the same error`
	}
	return nil
}
