// Command access answers who may do what, by rules of roles.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
)

const rules = `
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = g(r.sub, p.sub) && r.obj == p.obj && r.act == p.act
`

func main() {
	m, err := model.NewModelFromString(rules)
	if err != nil {
		log.Fatal(err)
	}
	e, err := casbin.NewEnforcer(m)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 200 {
		if _, err := e.AddPolicy(fmt.Sprintf("role%d", i%20), fmt.Sprintf("object%d", i), "read"); err != nil {
			log.Fatal(err)
		}
	}
	for i := range 400 {
		if _, err := e.AddGroupingPolicy(fmt.Sprintf("user%d", i), fmt.Sprintf("role%d", i%20)); err != nil {
			log.Fatal(err)
		}
	}
	http.HandleFunc("/may", func(w http.ResponseWriter, r *http.Request) {
		allowed := 0
		for i := range 12 {
			ok, err := e.Enforce("user7", fmt.Sprintf("object%d", 16*i+7), "read")
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			if ok {
				allowed++
			}
		}
		fmt.Fprintln(w, allowed)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
