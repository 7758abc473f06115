// Command cue evaluates a configuration of 4,000 services against a schema.
package main

import (
	"fmt"
	"log"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

const schema = `
#Service: {
	name:     string
	replicas: *2 | int & >0 & <100
	ports: [...{port: int & >1024, protocol: *"tcp" | "udp"}]
	labels: {app: name, tier: *"back" | "front"}
}
services: [string]: #Service
`

func main() {
	var b strings.Builder
	b.WriteString(schema)
	for i := range 4000 {
		fmt.Fprintf(&b, "services: s%d: {name: \"s%d\", replicas: %d, ports: [{port: %d}, {port: %d, protocol: \"udp\"}]}\n",
			i, i, i%9+1, 2000+i, 3000+i)
	}
	v := cuecontext.New().CompileString(b.String())
	if err := v.Validate(cue.Concrete(true)); err != nil {
		log.Fatal(err)
	}
	out, err := v.MarshalJSON()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(out))
}
