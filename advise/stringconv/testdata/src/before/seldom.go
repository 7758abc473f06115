package before

import (
	"bufio"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// What is long is copied; what is short is not.
func parsed(sc *bufio.Scanner, w io.Writer) (n int) {
	for sc.Scan() {
		number := sc.Text() // want `the copy in number is only parsed`
		if number != "" {
			n, _ = strconv.Atoi(number)
		}
		switch word := string(sc.Bytes()); word { // want `the copy in word is only compared`
		case "a", "b":
			n++
		}
		if t, err := time.Parse(time.RFC3339, string(sc.Bytes())); err == nil { // want `copies the bytes for time.Parse`
			n += t.Day()
		}
		u, _ := url.Parse(string(sc.Bytes())) // want `copies the bytes for net/url.Parse`
		n += len(u.Path)
		if strings.ContainsAny("abc", string(sc.Bytes())) { // want `string\(b\) copies for strings.ContainsAny`
			n++
		}
		io.WriteString(w, string(sc.Bytes())) // want `string\(b\) is copied for io.WriteString; Write takes the slice`
	}
	return n
}

func terminated(br *bufio.Reader) (n int) {
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return n
		}
		n += len(line)
	}
}

func file(name string) (string, error) {
	data, err := os.ReadFile(name)
	return string(data), err
}

func quoted(parts []string) string {
	b := make([]byte, 0, 512)
	for _, p := range parts {
		b = strconv.AppendQuote(b, p)
		b = append(b, ',')
	}
	return string(b)
}

func credentials(b []byte) (user, password string) {
	text := string(b) // want `the copy in text is read before it is kept`
	at := strings.IndexByte(text, ':')
	return text[:at], text[at+1:]
}
