// Command columns writes rows to Parquet files in memory, and reads them.
package main

import (
	"bytes"
	"fmt"
	"log"

	"github.com/parquet-go/parquet-go"
)

type trip struct {
	ID     int64    `parquet:"id,delta"`
	City   string   `parquet:"city,dict"`
	Driver string   `parquet:"driver"`
	Metres float64  `parquet:"metres"`
	Stops  []string `parquet:"stops,list"`
}

func main() {
	metres := 0.0
	for round := range 16 {
		var trips []trip
		for i := range 8000 {
			trips = append(trips, trip{int64(i), fmt.Sprintf("city %d", i%40), fmt.Sprintf("driver %d", i*round%3000), float64(i % 977),
				[]string{fmt.Sprintf("stop %d", i%100), fmt.Sprintf("stop %d", i%77)}})
		}
		var file bytes.Buffer
		if err := parquet.Write(&file, trips); err != nil {
			log.Fatal(err)
		}
		read, err := parquet.Read[trip](bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			log.Fatal(err)
		}
		for _, t := range read {
			metres += t.Metres
		}
	}
	fmt.Println(metres)
}
