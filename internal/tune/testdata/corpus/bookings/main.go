// Command bookings writes and reads bookings of a database for 400 ms, and prints how many.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/tidwall/buntdb"
)

func main() {
	db, err := buntdb.Open(":memory:")
	if err != nil {
		log.Fatal(err)
	}
	if err := db.CreateIndex("day", "booking:*", buntdb.IndexJSON("day")); err != nil {
		log.Fatal(err)
	}
	n := 0
	for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); n++ {
		err := db.Update(func(tx *buntdb.Tx) error {
			key := fmt.Sprintf("booking:%d", n%20000)
			_, _, err := tx.Set(key, fmt.Sprintf(`{"day":%d,"guest":"guest %d","room":%d}`, n%365, n, n%90), nil)
			return err
		})
		if err == nil {
			err = db.View(func(tx *buntdb.Tx) error {
				left := 20
				return tx.AscendGreaterOrEqual("day", fmt.Sprintf(`{"day":%d}`, n%365), func(key, value string) bool {
					left--
					return left > 0
				})
			})
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("{\"bookings\": %d}\n", n)
}
