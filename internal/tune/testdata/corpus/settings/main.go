// Command settings decodes configurations in HCL, and keeps what they say.
package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsimple"
)

type service struct {
	Name  string            `hcl:"name,label"`
	Port  int               `hcl:"port"`
	Tags  []string          `hcl:"tags"`
	Env   map[string]string `hcl:"env"`
	Check *check            `hcl:"check,block"`
}

type check struct {
	Path  string `hcl:"path"`
	Every string `hcl:"every"`
}

type config struct {
	Services []service `hcl:"service,block"`
}

func main() {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, `service "s%d" {
  port = %d + 8000
  tags = ["a", "t%d"]
  env  = { HOME = "/srv/x/s%d", N = "%d" }
  check {
    path  = "/health"
    every = "10s"
  }
}
`, i, i, i%7, i, i)
	}
	var all []config
	for range 14 {
		var c config
		if err := hclsimple.Decode("settings.hcl", []byte(b.String()), nil, &c); err != nil {
			log.Fatal(err)
		}
		all = append(all, c)
	}
	fmt.Println(len(all), len(all[0].Services))
}
