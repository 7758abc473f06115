// Command series appends samples to the time-series database of Prometheus and
// reads them back.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

func main() {
	dir, err := os.MkdirTemp("", "series-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		log.Fatal(err)
	}
	const series, scrapes = 5000, 120
	for scrape := range scrapes {
		app := db.Appender(context.Background())
		for i := range series { // labels are read anew at each scrape, as from a page of metrics
			name := labels.FromStrings("__name__", "requests_total", "instance", strconv.Itoa(i%100), "path", "/item/"+strconv.Itoa(i))
			if _, err := app.Append(0, name, int64(scrape)*15_000, float64(i*scrape)); err != nil {
				log.Fatal(err)
			}
		}
		if err := app.Commit(); err != nil {
			log.Fatal(err)
		}
	}
	var samples int
	for range 2 {
		samples += read(db)
	}
	fmt.Println(samples)
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
}

func read(db *tsdb.DB) (samples int) {
	q, err := db.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()
	set := q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, "instance", "[0-9]+"))
	for set.Next() {
		for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; samples++ {
		}
	}
	if set.Err() != nil {
		log.Fatal(set.Err())
	}
	return samples
}
