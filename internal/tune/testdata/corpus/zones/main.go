// Command zones reads a zone file of the DNS and packs answers from it.
package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/miekg/dns"
)

func main() {
	var text strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&text, "host%d.example.org. 3600 IN A 10.0.%d.%d\n", i, i/250, i%250)
		fmt.Fprintf(&text, "host%d.example.org. 3600 IN TXT \"rack %d\" \"owner %d\"\n", i, i%40, i%97)
	}
	records := map[string][]dns.RR{}
	zone := dns.NewZoneParser(strings.NewReader(text.String()), "example.org.", "")
	for rr, ok := zone.Next(); ok; rr, ok = zone.Next() {
		name := rr.Header().Name
		records[name] = append(records[name], rr)
	}
	if err := zone.Err(); err != nil {
		log.Fatal(err)
	}
	size := 0
	for i := range 60_000 {
		var m dns.Msg
		m.SetQuestion(fmt.Sprintf("host%d.example.org.", i*7%6000), dns.TypeTXT)
		m.Answer = records[m.Question[0].Name]
		packed, err := m.Pack()
		if err == nil {
			err = new(dns.Msg).Unpack(packed)
		}
		if err != nil {
			log.Fatal(err)
		}
		size += len(packed)
	}
	fmt.Println(size)
}
