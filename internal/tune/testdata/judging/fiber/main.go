// Command fiber serves orders as JSON from memory.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/gofiber/fiber/v2"
)

type line struct {
	Article string  `json:"article"`
	Count   int     `json:"count"`
	Price   float64 `json:"price"`
}

type order struct {
	ID    int    `json:"id"`
	Buyer string `json:"buyer"`
	Lines []line `json:"lines"`
}

func main() {
	orders := map[int]*order{}
	for id := range 40_000 {
		o := &order{ID: id, Buyer: fmt.Sprintf("buyer %d", id%997)}
		for n := range id%7 + 1 {
			o.Lines = append(o.Lines, line{fmt.Sprintf("article %d", n), n + 1, float64(n) * 1.5})
		}
		orders[id] = o
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/orders", func(c *fiber.Ctx) error {
		from := c.QueryInt("from")
		var out []*order
		for id := from; id < from+50; id++ {
			out = append(out, orders[id])
		}
		return c.JSON(out)
	})
	log.Fatal(app.Listen(os.Args[1]))
}
