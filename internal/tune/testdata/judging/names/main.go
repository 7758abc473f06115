// Command names is a name server for a zone of 20,000 hosts.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/miekg/dns"
)

func main() {
	zone := map[string]string{}
	for i := range 20_000 {
		zone[fmt.Sprintf("host%d.example.", i)] = fmt.Sprintf("10.0.%d.%d", i/256, i%256)
	}
	dns.HandleFunc(".", func(w dns.ResponseWriter, r *dns.Msg) {
		m := new(dns.Msg)
		m.SetReply(r)
		for _, q := range r.Question {
			if rr, err := dns.NewRR(fmt.Sprintf("%s 60 IN A %s", q.Name, zone[q.Name])); err == nil {
				m.Answer = append(m.Answer, rr)
			}
		}
		w.WriteMsg(m)
	})
	log.Fatal((&dns.Server{Addr: os.Args[1], Net: "tcp", MaxTCPQueries: -1}).ListenAndServe())
}
