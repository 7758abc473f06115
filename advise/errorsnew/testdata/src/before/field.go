//go:build go1.21

package before

import "errors"

type writer struct {
	err  error
	open map[int]func() error
}

func (w *writer) Close() error {
	for _, f := range w.open {
		if err := f(); err != nil {
			return err
		}
	}
	w.err = errors.New("closed") // want `the same error is made again`
	return nil
}
