//go:build !linux

package live

import (
	"errors"
	"fmt"
)

func executable(int) string { return "" }

func look(int) (kernelReading, error) {
	return kernelReading{}, fmt.Errorf("watching by process number needs /proc: %w; name the URL of the program's page",
		errors.ErrUnsupported)
}

func listening(int) ([]string, error) { return nil, errors.ErrUnsupported }

func answers(int, *sampler) bool { return false }
