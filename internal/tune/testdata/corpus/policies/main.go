// Command policies evaluates a Jsonnet program.
package main

import (
	"fmt"
	"log"

	"github.com/google/go-jsonnet"
)

const program = `
local rule(team, n) = {
  name: 'rule-%s-%d' % [team, n],
  allow: [{ port: 8000 + p, from: 'team-%d' % ((n + p) % 7) } for p in std.range(0, n % 5)],
  labels: { team: team, tier: if n % 3 == 0 then 'edge' else 'inner' },
};
local teams = ['red', 'green', 'blue', 'white'];
{
  [team]: {
    rules: [rule(team, n) for n in std.range(1, 40)],
    edge: std.length(std.filter(function(r) r.labels.tier == 'edge', self.rules)),
  }
  for team in teams
}
`

func main() {
	out, err := jsonnet.MakeVM().EvaluateAnonymousSnippet("policies.jsonnet", program)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(out))
}
