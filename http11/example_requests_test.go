package http11_test

import (
	"fmt"

	"github.com/isobar-go/isobar/http11"
)

// A custom transport reads into request memory and parses there.
func ExampleRequests() {
	requests, err := http11.NewRequests(http11.Memory{Mode: http11.Arena})
	if err != nil {
		panic(err)
	}
	defer requests.Close()

	r := requests.Begin()
	in := r.UnsafeAlloc(64)
	n := copy(in, "GET /hello?to=you HTTP/1.1\r\nHost: example.com\r\n\r\n")
	if _, err := requests.Parse(r, in[:n]); err != nil {
		panic(err)
	}
	path := r.Path()
	fmt.Println(r.Method(), path, r.Query(), r.Header("host"))
	requests.End(r)

	defer func() { fmt.Println(recover() != nil) }()
	_ = path.String() // the request has ended
	// Output:
	// GET /hello to=you example.com
	// true
}
