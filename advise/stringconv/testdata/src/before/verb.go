package before

import "fmt"

func described(name string, b []byte) string {
	return fmt.Sprintf("%v{%v}", name, string(b)) // want `%s takes the slice`
}
