// Command tariffs compiles expressions, and evaluates each for many orders.
package main

import (
	"fmt"
	"log"

	"github.com/expr-lang/expr"
)

type order struct {
	Weight, Distance float64
	Country          string
	Items            []string
}

func main() {
	countries := []string{"at", "de", "fr", "it", "pl"}
	var orders []order
	for i := range 400 {
		o := order{Weight: float64(i%37) + 0.5, Distance: float64(i * 7 % 900), Country: countries[i%len(countries)]}
		for n := range i % 6 {
			o.Items = append(o.Items, fmt.Sprintf("item %d of %d", n, i))
		}
		orders = append(orders, o)
	}
	total := 0.0
	for i := range 480 {
		text := fmt.Sprintf(`Weight * %d.5 + Distance / 10 + (Country in ["at", "de"] ? 0 : %d) + `+
			`len(filter(Items, # contains "%d")) + len(map(Items, upper(#)))`, i%9, i, i%10)
		program, err := expr.Compile(text, expr.Env(order{}))
		if err != nil {
			log.Fatal(err)
		}
		for _, o := range orders {
			price, err := expr.Run(program, o)
			if err != nil {
				log.Fatal(err)
			}
			total += price.(float64)
		}
	}
	fmt.Printf("%.2f\n", total)
}
