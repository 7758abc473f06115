// Command draw renders ten charts as PNG.
package main

import (
	"io"
	"log"
	"math"

	"github.com/fogleman/gg"
)

func main() {
	for chart := range 10 {
		c := gg.NewContext(640, 400)
		c.SetRGB(1, 1, 1)
		c.Clear()
		for line := range 12 {
			c.SetRGB(float64(line)/12, 0.3, 0.6)
			c.SetLineWidth(2)
			for x := range 640 {
				c.LineTo(float64(x), 200+150*math.Sin(float64(x*(line+1)+chart)/90))
			}
			c.Stroke()
		}
		if err := c.EncodePNG(io.Discard); err != nil {
			log.Fatal(err)
		}
	}
}
