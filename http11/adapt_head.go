package http11

import (
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// writeHeader saves the head as set so far.
func (w *adaptedWriter) writeHeader(status int) {
	if w.status == 0 {
		if status < 100 || status > 999 {
			panic(fmt.Sprintf("http11: WriteHeader: %d is not a status; use 100 to 999", status))
		}
		w.status, w.frozen = status, w.header.Clone()
		w.c().change(func(x *exchange) { x.final = true })
	}
}

// inform sends an informational response with the current fields.
func (w *adaptedWriter) inform(status int) {
	if w.status != 0 {
		return
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(w.header)) {
		for _, value := range w.header[name] {
			if id := knownID(name); token(name) && id != idContentLength && id != idTransferEncoding {
				fields = append(fields, name, strings.TrimSpace(cleanValue.Replace(value)))
			}
		}
	}
	w.c().Inform(status, fields...) // http.ResponseWriter returns no error
}

// writeHead passes the head to the Context.
func (w *adaptedWriter) writeHead() {
	if w.wrote {
		return
	}
	w.wrote = true
	w.writeHeader(200)
	c := w.c()
	_, typed := w.frozen["Content-Type"]
	encoded := w.frozen.Get("Content-Encoding") != ""
	c.change(func(x *exchange) {
		x.replaceStatus(w.status) // ErrHeadWritten: a middleware wrote content
		x.untyped, x.unsized = !typed && !encoded, x.head
	})
	for _, value := range w.frozen["Trailer"] {
		for key := range strings.SplitSeq(value, ",") {
			w.announce = append(w.announce, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(key)))
		}
	}
	if w.status == http.StatusNotModified {
		delete(w.frozen, "Content-Type") // net/http leaves it out: there is no content
	}
	for name := range w.frozen { // even without values, as a handler leaves out the server's Date
		c.RemoveHeader(name)
	}
	for _, name := range slices.Sorted(maps.Keys(w.frozen)) {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			continue
		}
		for _, value := range w.frozen[name] {
			value = strings.TrimSpace(cleanValue.Replace(value))
			if _, wrong := checkField(name, value); wrong == "" { // net/http leaves others out as well
				c.AddHeader(name, value) // not SetHeader: names may differ in case alone
			}
		}
	}
}

// change calls f with the response, unless the request has ended: a write will
// report that.
func (c *Context) change(f func(*exchange)) {
	if x := c.respond(); x != nil {
		defer x.exit()
		f(x)
	}
}

// streamTrailers switches to a chunked response, which trailer fields require.
func (c *exchange) streamTrailers() {
	if !c.head && c.r.head.minor > 0 && c.mayHaveContent() {
		c.stream() // the next write reports an error
	}
}

// cleanValue turns any handler's value into a valid field value, as net/http
// does.
var cleanValue = func() *strings.Replacer {
	var pairs []string
	for c := range byte(0x80) {
		if c < ' ' && c != '\t' || c == 0x7f {
			pairs = append(pairs, string(rune(c)), " ")
		}
	}
	return strings.NewReplacer(pairs...)
}()

func token(name string) bool {
	for i := range len(name) {
		if classOf[name[i]]&isToken == 0 {
			return false
		}
	}
	return name != ""
}

// trailers passes on the trailer fields the handler set. The response becomes
// chunked for them, for those it announced, and for a Content-Length that the
// handler has suppressed, if it still can.
func (w *adaptedWriter) trailers() {
	length, set := w.frozen["Content-Length"]
	chunked := w.announce != nil || set && len(length) == 0
	for _, name := range slices.Sorted(maps.Keys(w.header)) {
		key, prefixed := strings.CutPrefix(name, http.TrailerPrefix)
		if !prefixed && !slices.Contains(w.announce, name) || !token(key) || !trailing(knownID(key)) {
			continue
		}
		chunked = true
		for _, value := range w.header[name] {
			w.c().SetTrailer(key, strings.TrimSpace(cleanValue.Replace(value)))
		}
	}
	if chunked {
		w.c().change((*exchange).streamTrailers)
	}
}

// plainHead returns the head as set, without the fields that frame content.
func (w *adaptedWriter) plainHead() []byte {
	head := appendStatusLine(nil, w.status)
	if _, set := w.frozen["Date"]; !set {
		head = appendField(head, "Date", time.Now().UTC().Format(http.TimeFormat))
	}
	for _, name := range slices.Sorted(maps.Keys(w.frozen)) {
		for _, value := range w.frozen[name] {
			if token(name) {
				head = appendField(head, name, strings.TrimSpace(cleanValue.Replace(value)))
			}
		}
	}
	return append(head, "\r\n"...)
}
