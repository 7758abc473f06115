// Command directory is an LDAP server for 2,000 people.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/jimlambrt/gldap"
)

type person struct {
	dn         string
	attributes map[string][]string
}

func main() {
	var people []person
	for i := range 2000 {
		name := fmt.Sprintf("person%d", i)
		people = append(people, person{"uid=" + name + ",ou=people", map[string][]string{
			"uid": {name}, "mail": {name + "@example.com"}, "room": {fmt.Sprint(i % 40)}}})
	}
	server, err := gldap.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	mux, err := gldap.NewMux()
	if err != nil {
		log.Fatal(err)
	}
	search := func(w *gldap.ResponseWriter, r *gldap.Request) {
		done := r.NewSearchDoneResponse()
		defer w.Write(done)
		m, err := r.GetSearchMessage()
		if err != nil {
			return
		}
		room := strings.TrimSuffix(strings.TrimPrefix(m.Filter, "(room="), ")")
		for _, p := range people {
			if p.attributes["room"][0] == room {
				w.Write(r.NewSearchResponseEntry(p.dn, gldap.WithAttributes(p.attributes)))
			}
		}
		done.SetResultCode(gldap.ResultSuccess)
	}
	if err := mux.Search(search); err != nil {
		log.Fatal(err)
	}
	bind := func(w *gldap.ResponseWriter, r *gldap.Request) {
		w.Write(r.NewBindResponse(gldap.WithResponseCode(gldap.ResultSuccess)))
	}
	if err := mux.Bind(bind); err != nil {
		log.Fatal(err)
	}
	if err := server.Router(mux); err != nil {
		log.Fatal(err)
	}
	log.Fatal(server.Run(os.Args[1]))
}
