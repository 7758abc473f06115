package before

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

// What start-up code gives to a call runs as often as that calls it.
func init() {
	http.HandleFunc("/item", item)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, fmt.Sprintf("no %s", r.URL.Path /* hence no fix */)) // want `fixed shape`
	})
	fmt.Println(fmt.Sprintf("process %d", os.Getpid()))
}

func item(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, fmt.Sprintf("item:%s", r.URL.Path /* hence no fix */)) // want `fixed shape`
}
