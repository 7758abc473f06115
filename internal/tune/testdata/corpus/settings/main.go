// Command settings reads JSON with comments, changes and formats it.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/tailscale/hujson"
)

func main() {
	var text strings.Builder
	text.WriteString("{\n")
	for i := range 300 {
		fmt.Fprintf(&text, "// setting %d\n\"key%d\": {\"on\": true, /* of */ \"sizes\": [%d, %d, %d],},\n", i, i, i, i+1, i+2)
	}
	text.WriteString("}\n")
	http.HandleFunc("/format", func(w http.ResponseWriter, r *http.Request) {
		value, err := hujson.Parse([]byte(text.String()))
		if err == nil {
			err = value.Patch([]byte(`[{"op": "replace", "path": "/key7/on", "value": false}]`))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		value.Format()
		w.Write(value.Pack())
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
