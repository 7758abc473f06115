// Command rules decides about orders by expressions that it compiles for each request.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/google/cel-go/cel"
)

func main() {
	env, err := cel.NewEnv(cel.Variable("order", cel.MapType(cel.StringType, cel.DynType)))
	if err != nil {
		log.Fatal(err)
	}
	var orders []map[string]any
	for i := range 3000 {
		orders = append(orders, map[string]any{"id": i, "total": float64(i % 500), "town": fmt.Sprintf("town %d", i%60),
			"tags": []string{"new", fmt.Sprint(i % 7)}})
	}
	http.HandleFunc("/decide", func(w http.ResponseWriter, r *http.Request) {
		ast, issues := env.Compile(`order.total > 100.0 && order.town.startsWith("town 1") && order.tags.exists(t, t == "3") || order.id % 97 == 5`)
		if issues.Err() != nil {
			http.Error(w, issues.Err().Error(), http.StatusInternalServerError)
			return
		}
		program, err := env.Program(ast)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		n := 0
		for _, o := range orders[:250] {
			out, _, err := program.Eval(map[string]any{"order": o})
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			if out.Value() == true {
				n++
			}
		}
		fmt.Fprintln(w, n)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
