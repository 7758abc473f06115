package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"
)

const (
	rounds   = 10      // of requests of every kind on one connection
	tooLong  = 6 << 20 // beyond the limit of 4 MB
	tooShort = 100_000 // within it
)

// targets are sent as they stand here.
var targets = []string{"/echo/a[1]", `/echo?q="a"`, "/echo?q=<b>", "/echo?name=é", "/echo/a%2Fb?x=%20"}

// client checks Go's own client against a server.
func client(base string, tries int) error {
	for _, target := range targets {
		report("go: GET "+target, func() (string, error) { return echoed(base, target) })
	}
	report("go: requests on one connection", func() (string, error) { return reused(base) })
	sized := func() io.Reader { return bytes.NewReader(make([]byte, tooLong)) }
	chunked := func() io.Reader { return io.MultiReader(sized()) }
	expect := http.Header{"Expect": {"100-continue"}}
	for _, path := range []string{"/upload", "/api/notes"} {
		for _, r := range []struct {
			name   string
			body   func() io.Reader
			header http.Header
		}{{"", sized, nil}, {"chunked, ", chunked, nil}, {"Expect, ", sized, expect}} {
			report("go: too long, "+r.name+path, func() (string, error) {
				return refused(tries, base+path, r.body, r.header)
			})
		}
	}
	return nil
}

// report prints the result of a check.
func report(name string, check func() (string, error)) {
	result, err := check()
	if err != nil {
		result = "! " + err.Error()
	}
	fmt.Printf("%s\t%s\n", name, strings.ReplaceAll(result, "\n", " "))
}

// send returns the status and the body of an answer.
func send(c *http.Client, method, url string, body io.Reader, header http.Header) (int, string, error) {
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		return 0, "", err
	}
	maps.Copy(req.Header, header)
	resp, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

func echoed(base, target string) (string, error) {
	status, got, err := send(http.DefaultClient, "GET", base+target, nil, nil)
	switch {
	case err != nil:
		return "", err
	case status == 200 && got == target:
		return "200 unchanged", nil
	}
	return fmt.Sprintf("! %d %s", status, got), nil
}

// reused sends requests of several kinds, one after the other, and says how
// many connections the server has accepted meanwhile.
func reused(base string) (string, error) {
	c := &http.Client{Transport: &http.Transport{}}
	before, err := connections(c, base)
	if err != nil {
		return "", err
	}
	requests := 0
	for range rounds {
		for _, r := range []struct {
			method, path string
			body         io.Reader
			status       int
		}{
			{"GET", "/echo/x", nil, 200},
			{"POST", "/upload", bytes.NewReader(make([]byte, tooShort)), 200},
			{"POST", "/upload", io.MultiReader(bytes.NewReader(make([]byte, tooShort))), 200}, // chunked
			{"HEAD", "/echo/x", nil, 200},
			{"GET", "/none", nil, 404},
		} {
			status, _, err := send(c, r.method, base+r.path, r.body, nil)
			if err != nil {
				return "", err
			}
			if status != r.status {
				return fmt.Sprintf("! %s %s: %d", r.method, r.path, status), nil
			}
			requests++
		}
	}
	after, err := connections(c, base)
	if err != nil {
		return "", err
	}
	if after != before {
		return fmt.Sprintf("! %d more connections for %d requests", after-before, requests), nil
	}
	return fmt.Sprintf("%d requests on 1 connection", requests), nil
}

// connections returns how many connections the server has accepted.
func connections(c *http.Client, base string) (uint64, error) {
	status, body, err := send(c, "GET", base+"/stats", nil, nil)
	if err != nil {
		return 0, err
	}
	var stats struct{ Accepted uint64 }
	if err := json.Unmarshal([]byte(body), &stats); err != nil || stats.Accepted == 0 {
		return 0, fmt.Errorf("/stats: %d %s", status, body)
	}
	return stats.Accepted, nil
}

// refused says how many of the tries to send a body were answered by 413.
func refused(tries int, url string, body func() io.Reader, header http.Header) (string, error) {
	c := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Second}}
	seen, other := 0, ""
	for range tries {
		status, _, err := send(c, "POST", url, body(), header)
		switch {
		case err != nil:
			other = ": " + err.Error()
		case status == 413:
			seen++
		default:
			other = fmt.Sprintf(": %d", status)
		}
	}
	if seen != tries {
		return fmt.Sprintf("! 413 in %d of %d%s", seen, tries, other), nil
	}
	return fmt.Sprintf("413 in %d of %d", seen, tries), nil
}
