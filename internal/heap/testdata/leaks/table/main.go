// Table runs a database behind HTTP.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"leaks/plant"
)

func main() { plant.Main(serve, load) }

func serve(keep func(any, []byte)) string {
	db, err := leveldb.Open(storage.NewMemStorage(), nil)
	plant.Must(err)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		batch := new(leveldb.Batch)
		for i, line := range bytes.Split(body, []byte("\n")) {
			batch.Put(fmt.Append(nil, r.URL.Path, "/", i), line)
		}
		plant.Must(db.Write(batch, nil))
		keep(batch, []byte(r.URL.Path))
		if value, err := db.Get([]byte(r.URL.Path+"/0"), nil); err == nil {
			w.Write(value)
		}
	}))
	return s.URL
}

func load(address string) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 20}}
	body := strings.Repeat("a row of the table with words\n", 20)
	var all sync.WaitGroup
	for c := range 16 {
		all.Go(func() {
			for i := range 1000 {
				url := fmt.Sprint(address, "/rows/", c, "/", i%100)
				if resp, err := client.Post(url, "text/plain", strings.NewReader(body)); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	all.Wait()
}
