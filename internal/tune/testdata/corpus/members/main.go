// Command members writes members of clubs as MessagePack, and reads them again.
package main

import (
	"fmt"
	"log"

	"github.com/vmihailenco/msgpack/v5"
)

type member struct {
	Name   string
	Joined int64
	Paid   []float64
	Tags   map[string]string
}

func main() {
	var clubs [][]byte
	for c := range 40 {
		var all []member
		for i := range 300 {
			m := member{Name: fmt.Sprintf("member %d of %d", i, c), Joined: int64(i) * 86400, Tags: map[string]string{}}
			for n := range i % 8 {
				m.Paid = append(m.Paid, float64(n)*12.5)
				m.Tags[fmt.Sprint("tag", n)] = fmt.Sprint("value ", i*n)
			}
			all = append(all, m)
		}
		data, err := msgpack.Marshal(all)
		if err != nil {
			log.Fatal(err)
		}
		clubs = append(clubs, data)
	}
	members := 0
	for range 16 {
		for _, data := range clubs {
			var all []member
			if err := msgpack.Unmarshal(data, &all); err != nil {
				log.Fatal(err)
			}
			members += len(all)
		}
	}
	fmt.Println(members)
}
