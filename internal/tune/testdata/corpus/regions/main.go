// Command regions reads shapes of a map, simplifies and clips them, and writes them.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/clip"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/simplify"
)

func main() {
	all := geojson.NewFeatureCollection()
	for i := range 700 {
		ring := orb.Ring{}
		for n := range 60 {
			angle, far := 2*math.Pi*float64(n)/60, 1+0.2*math.Sin(float64(n*i%17))
			ring = append(ring, orb.Point{float64(i%40) + far*math.Cos(angle), float64(i/40) + far*math.Sin(angle)})
		}
		ring = append(ring, ring[0])
		f := geojson.NewFeature(orb.Polygon{ring})
		f.Properties["name"], f.Properties["people"] = fmt.Sprintf("region %d", i), i*1000
		all.Append(f)
	}
	data, err := json.Marshal(all)
	if err != nil {
		log.Fatal(err)
	}
	length := 0
	for round := range 3 {
		read, err := geojson.UnmarshalFeatureCollection(data)
		if err != nil {
			log.Fatal(err)
		}
		window := orb.Bound{Min: orb.Point{float64(round), 0}, Max: orb.Point{float64(round) + 30, 15}}
		for _, f := range read.Features {
			f.Geometry = clip.Geometry(window, simplify.DouglasPeucker(0.02).Simplify(f.Geometry))
		}
		out, err := json.Marshal(read)
		if err != nil {
			log.Fatal(err)
		}
		length += len(out)
	}
	fmt.Println(length)
}
