// Command statements parses statements of SQL, keeps some and prints all again.
package main

import (
	"fmt"
	"log"

	"github.com/xwb1989/sqlparser"
)

func main() {
	var kept []sqlparser.Statement
	length := 0
	for i := range 3_000 {
		text := fmt.Sprintf("select a.id, b.name, count(*) as n, sum(a.price * %d) from orders as a join buyers as b on a.buyer = b.id "+
			"where a.day between %d and %d and b.town in ('x%d', 'y', 'z') and (a.paid = 1 or a.price < %d) "+
			"group by a.id, b.name having n > 3 order by n desc limit %d", i%9, i, i+30, i%100, i%1000, 1+i%50)
		statement, err := sqlparser.Parse(text)
		if err != nil {
			log.Fatal(err)
		}
		if i%8 == 0 {
			kept = append(kept, statement)
		}
		length += len(sqlparser.String(statement))
	}
	fmt.Println(length, len(kept))
}
