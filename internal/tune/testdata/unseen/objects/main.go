// Command objects is an S3 server whose buckets are in memory.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func main() {
	backend := s3mem.New()
	if err := backend.CreateBucket("photos"); err != nil {
		log.Fatal(err)
	}
	for i := range 3000 {
		text := strings.Repeat(fmt.Sprintf("object %d ", i), 200)
		_, err := backend.PutObject("photos", fmt.Sprintf("2026/%02d/%d.jpg", i%12+1, i), map[string]string{"Kind": "photo"},
			strings.NewReader(text), int64(len(text)), nil)
		if err != nil {
			log.Fatal(err)
		}
	}
	log.Fatal(http.ListenAndServe(os.Args[1], gofakes3.New(backend).Server()))
}
