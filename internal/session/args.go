package session

import (
	"os"

	"github.com/isobar-go/isobar/internal/show/text"
)

// Args returns the arguments of the command without the passwords of URLs: stores and pages, which
// others get, show them.
func Args() (args []string) {
	for _, arg := range os.Args[1:] {
		args = append(args, text.WithoutPasswords(arg))
	}
	return args
}
