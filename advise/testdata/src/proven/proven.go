package proven

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

func handle(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, fmt.Sprintf("%s", r.URL.Path)) // once for each request
	for range r.Header {
		var b strings.Builder
		b.WriteString(fmt.Sprintf("%d", r.ContentLength)) // hot
		fmt.Fprint(w, b.String(), matches(r.URL.Path))
	}
}

func matches(text string) bool {
	return regexp.MustCompile("a+b").MatchString(text) // hot
}

func matchesOnce(text string) bool {
	return regexp.MustCompile("a+b").MatchString(text) // nothing calls it
}

func routes(mux *http.ServeMux) {
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		for i := range r.ContentLength {
			var b strings.Builder
			b.WriteString(fmt.Sprintf("%d", i)) // hot
			fmt.Fprint(w, b.String())
		}
	})
}

// Timed is what a benchmark times.
func Timed(numbers []int) (n int) {
	for _, number := range numbers {
		n += inner(number)
	}
	return n
}

func inner(number int) int {
	var b strings.Builder
	b.WriteString(fmt.Sprintf("%d", number)) // hot
	return b.Len()
}

// Prepared is what a benchmark calls in a loop before it begins.
func Prepared(table [][]int) (n int) {
	for _, row := range table {
		for _, number := range row {
			var b strings.Builder
			b.WriteString(fmt.Sprintf("%d", number)) // loops alone prove nothing
			n += b.Len()
		}
	}
	return n
}

// Repeat has the name of a function that a benchmark calls in another package.
func Repeat(table [][]int) (n int) {
	for range table {
		var b strings.Builder
		b.WriteString(fmt.Sprintf("%d", n)) // not timed
		n += b.Len()
	}
	return n
}
