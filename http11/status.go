package http11

import (
	"net/http"
	"strconv"
)

// statusLines holds "HTTP/1.1 200 OK\r\n" by status.
var statusLines = func() (lines [600]string) {
	for code := 100; code < len(lines); code++ {
		if text := http.StatusText(code); text != "" {
			lines[code] = statusLine(code, text)
		}
	}
	return lines
}()

func statusLine(code int, text string) string {
	return "HTTP/1.1 " + strconv.Itoa(code) + " " + text + "\r\n"
}

const okLine = "HTTP/1.1 200 OK\r\n"

// appendStatusLine appends the status line. A status without a registered
// reason gets an empty one (RFC 9112, section 4).
func appendStatusLine(out []byte, code int) []byte {
	if code < len(statusLines) && statusLines[code] != "" {
		return append(out, statusLines[code]...)
	}
	return append(out, statusLine(code, "")...)
}

// hasBody reports whether a response with this status may have content (RFC
// 9110, section 6.4.1).
func hasBody(code int) bool { return code >= 200 && code != 204 && code != 304 }

const continueLine = "HTTP/1.1 100 Continue\r\n\r\n"
