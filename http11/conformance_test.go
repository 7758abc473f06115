package http11

import "strings"

// A conformanceCase is a client's input on a fresh connection and the expected
// result. Sections are of RFC 9112 unless another RFC is named.
type conformanceCase struct {
	name    string
	section string
	input   string
	before  int  // requests in input that are answered with 200 before the last one
	status  int  // of the last response
	closes  bool // whether the connection ends after it
	strict  bool // with StrictTargets the first request is refused with 400
}

// conformanceLimits are the limits that the table assumes.
var conformanceLimits = limits{targetBytes: 1 << 10, headBytes: 4 << 10, fields: 32, bodyBytes: 64 << 10}

// strictLimits are the same with StrictTargets.
var strictLimits = func() limits {
	l := conformanceLimits
	l.strictTargets = true
	return l
}()

// get is a request line and a Host; other fields and an empty line follow.
const (
	get   = "GET / HTTP/1.1\r\nHost: a\r\n"
	post  = "POST / HTTP/1.1\r\nHost: a\r\n"
	te    = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	end   = "\r\n"
	empty = "0\r\n\r\n"
)

// line is a request with that request line.
func line(s string) string { return s + "\r\nHost: a\r\n\r\n" }

var conformance = concat(conformanceLines, conformanceTargets, conformanceLoose, conformanceHosts, conformanceFields,
	conformanceLengths, conformanceCodings, conformanceChunks, conformanceExtensions, conformanceConnections)

func concat(tables ...[]conformanceCase) (all []conformanceCase) {
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}

var conformanceLines = []conformanceCase{
	{name: "get", section: "3", input: get + end, status: 200},
	{name: "two in a row", section: "9.3.2", input: get + end + get + end, before: 1, status: 200},
	{name: "one empty line before", section: "2.2", input: "\r\n" + get + end, status: 200},
	{name: "an empty line between", section: "2.2", input: get + end + "\r\n" + get + end, before: 1, status: 200},
	{name: "two empty lines before", section: "2.2", input: "\r\n\r\n" + get + end, status: 200},
	{name: "two empty lines after a body", section: "2.2", input: post + "Content-Length: 3\r\n\r\nabc\r\n\r\n" + get + end,
		before: 1, status: 200},
	{name: "three empty lines before", section: "2.2", input: "\r\n\r\n\r\n" + get + end, status: 400, closes: true},
	{name: "LF before", section: "2.2", input: "\n" + get + end, status: 400, closes: true},
	{name: "CR before", section: "2.2", input: "\r" + get + end, status: 400, closes: true},
	{name: "space before", section: "2.2", input: " " + get + end, status: 400, closes: true},
	{name: "NUL before", section: "2.2", input: "\x00" + get + end, status: 400, closes: true},
	{name: "byte order mark before", section: "2.2", input: "\xef\xbb\xbf" + get + end, status: 400, closes: true},
	{name: "TLS client hello", section: "3", input: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", status: 400, closes: true},
	{name: "unknown method", section: "9110 9.1", input: line("BREW / HTTP/1.1"), status: 200},
	{name: "method of token characters", section: "9110 5.6.2", input: line("!#$%&'*+-.^_`|~ / HTTP/1.1"), status: 200},
	{name: "lower case method", section: "9110 9.1", input: line("get / HTTP/1.1"), status: 200},
	{name: "method too long", section: "3", input: line(strings.Repeat("M", 33) + " / HTTP/1.1"), status: 501, closes: true},
	{name: "method with slash", section: "9110 9.1", input: line("GE/T / HTTP/1.1"), status: 400, closes: true},
	{name: "method with parenthesis", section: "9110 5.6.2", input: line("G(E)T / HTTP/1.1"), status: 400, closes: true},
	{name: "method with NUL", section: "9110 9.1", input: line("G\x00T / HTTP/1.1"), status: 400, closes: true},
	{name: "method with high byte", section: "9110 9.1", input: line("G\x80T / HTTP/1.1"), status: 400, closes: true},
	{name: "no method", section: "3", input: line(" / HTTP/1.1"), status: 400, closes: true},
	{name: "tab after method", section: "3", input: line("GET\t/ HTTP/1.1"), status: 400, closes: true},
	{name: "two spaces after method", section: "3", input: line("GET  / HTTP/1.1"), status: 400, closes: true},
	{name: "two spaces after target", section: "3", input: line("GET /  HTTP/1.1"), status: 400, closes: true},
	{name: "tab after target", section: "3", input: line("GET /\tHTTP/1.1"), status: 400, closes: true},
	{name: "vertical tab after method", section: "3", input: line("GET\v/ HTTP/1.1"), status: 400, closes: true},
	{name: "space after version", section: "3", input: line("GET / HTTP/1.1 "), status: 400, closes: true},
	{name: "no version", section: "3", input: line("GET /"), status: 400, closes: true},
	{name: "no target", section: "3", input: line("GET HTTP/1.1"), status: 400, closes: true},
	{name: "method alone", section: "3", input: line("GET"), status: 400, closes: true},
	{name: "request line ends with LF", section: "2.2", input: "GET / HTTP/1.1\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "request line ends with CR", section: "2.2", input: "GET / HTTP/1.1\rHost: a\r\n\r\n", status: 400, closes: true},
	{name: "request line ends with CR CR LF", section: "2.2", input: "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "HTTP/1.0 line and two LF", section: "2.2", input: "GET / HTTP/1.0\n\n", status: 200, closes: true},
	{name: "nothing after two LF is answered", section: "2.2", input: "GET / HTTP/1.0\n\n" + get + end, status: 200, closes: true},
	{name: "CONNECT in HTTP/1.0 and two LF", section: "2.2", input: "CONNECT /a HTTP/1.0\n\n", status: 200, closes: true},
	{name: "HTTP/1.0 line, LF and CR LF", section: "2.2", input: "GET / HTTP/1.0\n\r\n", status: 400, closes: true},
	{name: "HTTP/1.0 line, LF and a field", section: "2.2", input: "GET / HTTP/1.0\nConnection: keep-alive\n\n", status: 400, closes: true},
	{name: "HTTP/1.1 line and two LF", section: "2.2", input: "GET / HTTP/1.1\n\n", status: 400, closes: true},
	{name: "HTTP/1.0", section: "9.3", input: "GET / HTTP/1.0\r\n\r\n", status: 200, closes: true},
	{name: "HTTP/1.2", section: "9110 2.5", input: line("GET / HTTP/1.2"), status: 200},
	{name: "HTTP/1.9", section: "9110 2.5", input: line("GET / HTTP/1.9"), status: 200},
	{name: "HTTP/2.0", section: "9110 15.6.6", input: line("GET / HTTP/2.0"), status: 505, closes: true},
	{name: "HTTP/2 preface", section: "9110 15.6.6", input: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 400, closes: true},
	{name: "HTTP/2 without minor", section: "9110 15.6.6", input: line("GET / HTTP/2"), status: 505, closes: true},
	{name: "HTTP/0.9", section: "9110 15.6.6", input: line("GET / HTTP/0.9"), status: 505, closes: true},
	{name: "HTTP/3.1", section: "9110 15.6.6", input: line("GET / HTTP/3.1"), status: 505, closes: true},
	{name: "HTTP/1", section: "2.3", input: line("GET / HTTP/1"), status: 400, closes: true},
	{name: "HTTP/1.", section: "2.3", input: line("GET / HTTP/1."), status: 400, closes: true},
	{name: "HTTP/1.10", section: "2.3", input: line("GET / HTTP/1.10"), status: 400, closes: true},
	{name: "HTTP/01.1", section: "2.3", input: line("GET / HTTP/01.1"), status: 505, closes: true},
	{name: "HTTP/1,1", section: "2.3", input: line("GET / HTTP/1,1"), status: 400, closes: true},
	{name: "HTTP/1.x", section: "2.3", input: line("GET / HTTP/1.x"), status: 400, closes: true},
	{name: "HTTP/+1.1", section: "2.3", input: line("GET / HTTP/+1.1"), status: 400, closes: true},
	{name: "http/1.1", section: "2.3", input: line("GET / http/1.1"), status: 400, closes: true},
	{name: "HTTPS/1.1", section: "2.3", input: line("GET / HTTPS/1.1"), status: 400, closes: true},
	{name: "ICY 1.1", section: "2.3", input: line("GET / ICY/1.1"), status: 400, closes: true},
}

var conformanceTargets = []conformanceCase{
	{name: "query", section: "3.2.1", input: line("GET /a/b?c=d&e HTTP/1.1"), status: 200},
	{name: "second question mark", section: "3986 3.4", input: line("GET /?a?b HTTP/1.1"), status: 200},
	{name: "percent in path", section: "3986 2.1", input: line("GET /%2e%2E/a HTTP/1.1"), status: 200},
	{name: "percent in query", section: "3986 2.1", input: line("GET /?%2f%2F HTTP/1.1"), status: 200},
	{name: "fragment", section: "3.2", input: line("GET /a#b HTTP/1.1"), status: 400, closes: true},
	{name: "fragment after query", section: "3.2", input: line("GET /a?b#c HTTP/1.1"), status: 400, closes: true},
	{name: "NUL in path", section: "3.2", input: line("GET /\x00 HTTP/1.1"), status: 400, closes: true},
	{name: "DEL in query", section: "3.2", input: line("GET /?\x7f HTTP/1.1"), status: 400, closes: true},
	{name: "NUL in query", section: "3.2", input: line("GET /?\x00 HTTP/1.1"), status: 400, closes: true},
	{name: "tab in query", section: "3.2", input: line("GET /?a\tb HTTP/1.1"), status: 400, closes: true},
	{name: "space in path", section: "3.2", input: line("GET /a b HTTP/1.1"), status: 400, closes: true},
	{name: "CR in target", section: "2.2", input: line("GET /a\rb HTTP/1.1"), status: 400, closes: true},
	{name: "no slash", section: "3.2", input: line("GET index.html HTTP/1.1"), status: 400, closes: true},
	{name: "query without path", section: "3.2", input: line("GET ?a HTTP/1.1"), status: 400, closes: true},
	{name: "two slashes", section: "3.2.1", input: line("GET //a HTTP/1.1"), status: 200},
	{name: "absolute form", section: "3.2.2", input: line("GET http://b/c?d HTTP/1.1"), status: 200},
	{name: "absolute form, upper case scheme", section: "3986 3.1", input: line("GET HTTP://b/ HTTP/1.1"), status: 200},
	{name: "absolute form without path", section: "3.2.2", input: line("GET http://b HTTP/1.1"), status: 200},
	{name: "absolute form, query without path", section: "3.2.2", input: line("GET http://b?c HTTP/1.1"), status: 200},
	{name: "absolute form with port", section: "3.2.2", input: line("GET https://b:8443/ HTTP/1.1"), status: 200},
	{name: "absolute form with IPv6", section: "3986 3.2.2", input: line("GET http://[::1]:80/ HTTP/1.1"), status: 200},
	{name: "absolute form with zone", section: "6874 3", input: line("GET http://[fe80::1%25eth0]/ HTTP/1.1"), status: 400, closes: true},
	{name: "absolute form without Host", section: "3.2.2", input: "GET http://b/ HTTP/1.1\r\n\r\n", status: 400, closes: true},
	{name: "absolute form, backslash", section: "9110 4.2", input: line("GET http://b\\c HTTP/1.1"), status: 400, closes: true},
	{name: "absolute form, UTF-8", section: "9110 4.2", input: line("GET http://\xc3\xa9/ HTTP/1.1"), status: 400, closes: true},
	{name: "absolute form with user", section: "9110 4.2.4", input: line("GET http://u@b/ HTTP/1.1"), status: 400, closes: true},
	{name: "absolute form without host", section: "9110 4.2.1", input: line("GET http:///a HTTP/1.1"), status: 400, closes: true},
	{name: "absolute form, port without host", section: "9110 4.2.1", input: line("GET http://:80/ HTTP/1.1"), status: 400, closes: true},
	{name: "absolute form, bad port", section: "3986 3.2.3", input: line("GET http://b:8a/ HTTP/1.1"), status: 400, closes: true},
	{name: "absolute form, one slash", section: "3.2.2", input: line("GET http:/b HTTP/1.1"), status: 400, closes: true},
	{name: "absolute form, other scheme", section: "3.2.2", input: line("GET ftp://b/ HTTP/1.1"), status: 400, closes: true},
	{name: "absolute form with fragment", section: "3.2.2", input: line("GET http://b/#c HTTP/1.1"), status: 400, closes: true},
	{name: "asterisk form", section: "3.2.4", input: line("OPTIONS * HTTP/1.1"), status: 200},
	{name: "asterisk form with GET", section: "3.2.4", input: line("GET * HTTP/1.1"), status: 400, closes: true},
	{name: "asterisk and more", section: "3.2.4", input: line("OPTIONS *a HTTP/1.1"), status: 400, closes: true},
	{name: "OPTIONS, absolute without path", section: "3.2.4", input: line("OPTIONS http://b HTTP/1.1"), status: 200},
	{name: "CONNECT without port", section: "3.2.3", input: line("CONNECT b HTTP/1.1"), status: 400, closes: true},
	{name: "CONNECT, empty port", section: "9110 9.3.6", input: line("CONNECT b: HTTP/1.1"), status: 400, closes: true},
	{name: "CONNECT with path", section: "3.2.1", input: "CONNECT /a HTTP/1.1\r\nConnection: close\r\nHost: a\r\n\r\n", status: 200, closes: true},
	{name: "CONNECT without path", section: "3.2.3", input: line("CONNECT ?a HTTP/1.1"), status: 400, closes: true},
	{name: "CONNECT, absolute form", section: "3.2.3", input: line("CONNECT http://b:80/ HTTP/1.1"), status: 400, closes: true},
	{name: "GET, authority form", section: "3.2.3", input: line("GET b:80 HTTP/1.1"), status: 400, closes: true},
	{name: "target as long as allowed", section: "3", input: line("GET /" + strings.Repeat("a", 1023) + " HTTP/1.1"), status: 200},
	{name: "target too long", section: "3", input: line("GET /" + strings.Repeat("a", 1024) + " HTTP/1.1"), status: 414, closes: true},
	{name: "query too long", section: "3", input: line("GET /?" + strings.Repeat("a", 1<<20) + " HTTP/1.1"), status: 414, closes: true},
}

// loose is a target that clients send and RFC 3986 does not allow.
func loose(name, section, target string) conformanceCase {
	return conformanceCase{name: name, section: section, input: line("GET " + target + " HTTP/1.1"), status: 200, strict: true}
}

var conformanceLoose = []conformanceCase{
	loose("percent without digits in path", "3986 2.1", "/%zz"),
	loose("percent with one digit in path", "3986 2.1", "/%4"),
	loose("percent by itself in path", "3986 2.1", "/100%?a"),
	loose("percent by itself in query", "3986 2.1", "/?100%"),
	loose("percent with one digit in query", "3986 2.1", "/?a=%4&b"),
	loose("brackets in path", "3986 3.3", "/a[1]"),
	loose("brackets in query", "3986 3.4", "/?a[]=1"),
	loose("quote in path", "3986 3.3", "/\""),
	loose("quote in query", "3986 3.4", "/?q=\"a\""),
	loose("angle bracket in query", "3986 3.4", "/?<script>"),
	loose("backslash in path", "3986 3.3", "/a\\b"),
	loose("bar and caret in path", "3986 3.3", "/a|b^c"),
	loose("braces and backquote in path", "3986 3.3", "/{a}`b`"),
	loose("UTF-8 in path", "3986 3.3", "/\xc3\xa9"),
	loose("UTF-8 in query", "3986 3.4", "/?name=\xc3\xa9"),
	loose("high bytes that are no UTF-8", "3986 3.3", "/\x80?\xff"),
	loose("absolute form, bracket in path", "3986 3.3", "http://b/[c]"),
	loose("absolute form, quote in query", "3986 3.4", "http://b?\"c\""),
}

var conformanceHosts = []conformanceCase{
	{name: "no Host", section: "3.2", input: "GET / HTTP/1.1\r\n\r\n", status: 400, closes: true},
	{name: "no Host, HTTP/1.0", section: "3.2", input: "GET / HTTP/1.0\r\nA: b\r\n\r\n", status: 200, closes: true},
	{name: "two Hosts", section: "3.2", input: get + "Host: b\r\n\r\n", status: 400, closes: true},
	{name: "two equal Hosts", section: "3.2", input: get + "Host: a\r\n\r\n", status: 400, closes: true},
	{name: "two Hosts, other case", section: "3.2", input: get + "hOST: a\r\n\r\n", status: 400, closes: true},
	{name: "two Hosts, HTTP/1.0", section: "3.2", input: "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", status: 400, closes: true},
	{name: "empty Host", section: "3.2", input: "GET / HTTP/1.1\r\nHost:\r\n\r\n", status: 200},
	{name: "Host with port", section: "3.2", input: "GET / HTTP/1.1\r\nHost: a:80\r\n\r\n", status: 200},
	{name: "Host, IPv6", section: "3986 3.2.2", input: "GET / HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n", status: 200},
	{name: "Host, IPv6 with zone", section: "6874 3", input: "GET / HTTP/1.1\r\nHost: [fe80::1%eth0.1]:80\r\n\r\n", status: 200},
	{name: "Host, IPv6 with encoded zone", section: "6874 3", input: "GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n", status: 200},
	{name: "Host, zone not closed", section: "6874 3", input: "GET / HTTP/1.1\r\nHost: [::1%a\r\n\r\n", status: 400, closes: true},
	{name: "Host, zone with slash", section: "6874 3", input: "GET / HTTP/1.1\r\nHost: [::1%a/b]\r\n\r\n", status: 400, closes: true},
	{name: "Host, IPv6 not closed", section: "3986 3.2.2", input: "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", status: 400, closes: true},
	{name: "Host, letters in port", section: "3986 3.2.3", input: "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", status: 400, closes: true},
	{name: "Host list", section: "3.2", input: "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", status: 400, closes: true},
	{name: "Host with space", section: "3.2", input: "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", status: 400, closes: true},
	{name: "Host with path", section: "3.2", input: "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", status: 400, closes: true},
	{name: "Host with user", section: "3.2", input: "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", status: 400, closes: true},
	{name: "Host with high byte", section: "3.2", input: "GET / HTTP/1.1\r\nHost: \xe4\r\n\r\n", status: 400, closes: true},
	{name: "Host, bad percent", section: "3986 2.1", input: "GET / HTTP/1.1\r\nHost: a%2\r\n\r\n", status: 400, closes: true},
}

var conformanceFields = []conformanceCase{
	{name: "no space after colon", section: "5", input: get + "A:b\r\n\r\n", status: 200},
	{name: "white space around value", section: "5", input: get + "A: \t b\t \r\n\r\n", status: 200},
	{name: "empty value", section: "5", input: get + "A:\r\n\r\n", status: 200},
	{name: "value of white space", section: "5", input: get + "A: \t \r\n\r\n", status: 200},
	{name: "high bytes in value", section: "9110 5.5", input: get + "A: \x80\xff\r\n\r\n", status: 200},
	{name: "tab in value", section: "9110 5.5", input: get + "A: b\tc\r\n\r\n", status: 200},
	{name: "space before colon", section: "5.1", input: get + "A : b\r\n\r\n", status: 400, closes: true},
	{name: "tab before colon", section: "5.1", input: get + "A\t: b\r\n\r\n", status: 400, closes: true},
	{name: "space before colon of Content-Length", section: "5.1", input: post + "Content-Length : 3\r\n\r\nabc", status: 400, closes: true},
	{name: "space before colon of Transfer-Encoding", section: "5.1", input: post + "Transfer-Encoding : chunked\r\n\r\n" + empty, status: 400, closes: true},
	{name: "space before name", section: "5.2", input: get + " A: b\r\n\r\n", status: 400, closes: true},
	{name: "white space before first field", section: "2.2", input: "GET / HTTP/1.1\r\n Host: a\r\n\r\n", status: 400, closes: true},
	{name: "folded value", section: "5.2", input: get + "A: b\r\n c\r\n\r\n", status: 400, closes: true},
	{name: "folded with tab", section: "5.2", input: get + "A: b\r\n\tc\r\n\r\n", status: 400, closes: true},
	{name: "folded Transfer-Encoding", section: "5.2", input: post + "Transfer-Encoding:\r\n chunked\r\n\r\n" + empty, status: 400, closes: true},
	{name: "line of white space", section: "5.2", input: get + " \r\n\r\n", status: 400, closes: true},
	{name: "no name", section: "5.1", input: get + ": b\r\n\r\n", status: 400, closes: true},
	{name: "no colon", section: "5", input: get + "A b\r\n\r\n", status: 400, closes: true},
	{name: "name alone", section: "5", input: get + "A\r\n\r\n", status: 400, closes: true},
	{name: "NUL in name", section: "5.1", input: get + "A\x00: b\r\n\r\n", status: 400, closes: true},
	{name: "high byte in name", section: "5.1", input: get + "\xc3\x84: b\r\n\r\n", status: 400, closes: true},
	{name: "parenthesis in name", section: "9110 5.6.2", input: get + "A(b): c\r\n\r\n", status: 400, closes: true},
	{name: "NUL in value", section: "9110 5.5", input: get + "A: b\x00c\r\n\r\n", status: 400, closes: true},
	{name: "escape in value", section: "9110 5.5", input: get + "A: \x1b[0m\r\n\r\n", status: 400, closes: true},
	{name: "DEL in value", section: "9110 5.5", input: get + "A: \x7f\r\n\r\n", status: 400, closes: true},
	{name: "bare CR in value", section: "2.2", input: get + "A: b\rc\r\n\r\n", status: 400, closes: true},
	{name: "bare CR before field", section: "2.2", input: get + "\rA: b\r\n\r\n", status: 400, closes: true},
	{name: "bare LF ends field", section: "2.2", input: get + "A: b\nC: d\r\n\r\n", status: 400, closes: true},
	{name: "LF LF ends head", section: "2.2", input: get + "A: b\n\n", status: 400, closes: true},
	{name: "CR LF LF ends head", section: "2.2", input: get + "\n", status: 400, closes: true},
	{name: "CR CR LF ends field", section: "2.2", input: get + "A: b\r\r\n\r\n", status: 400, closes: true},
	{name: "CR CR ends head", section: "2.2", input: get + "\r\r", status: 400, closes: true},
	{name: "bare LF hides a field", section: "2.2", input: post + "A: b\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", status: 400, closes: true},
	{name: "as many fields as allowed", section: "6585 5", input: get + strings.Repeat("A: b\r\n", 31) + end, status: 200},
	{name: "too many fields", section: "6585 5", input: get + strings.Repeat("A: b\r\n", 32) + end, status: 431, closes: true},
	{name: "head too large", section: "6585 5", input: get + "A: " + strings.Repeat("b", 5<<10) + "\r\n\r\n", status: 431, closes: true},
	{name: "name too large", section: "6585 5", input: get + strings.Repeat("A", 5<<10) + ": b\r\n\r\n", status: 431, closes: true},
	{name: "head of a megabyte", section: "6585 5", input: get + "A: " + strings.Repeat("b", 1<<20), status: 431, closes: true},
	{name: "head as large as allowed", section: "6585 5", input: get + "A: " + strings.Repeat("b", 4096-len(get)-len("A: \r\n\r\n")) + "\r\n\r\n", status: 200},
	{name: "head one byte too large", section: "6585 5", input: get + "A: " + strings.Repeat("b", 4097-len(get)-len("A: \r\n\r\n")) + "\r\n\r\n", status: 431, closes: true},
}

var conformanceLengths = []conformanceCase{
	{name: "body", section: "6.2", input: post + "Content-Length: 3\r\n\r\nabc", status: 200},
	{name: "body, then a request", section: "6.2", input: post + "Content-Length: 3\r\n\r\nabc" + get + end, before: 1, status: 200},
	{name: "body with GET", section: "9110 9.3.1", input: get + "Content-Length: 3\r\n\r\nabc" + get + end, before: 1, status: 200},
	{name: "length zero", section: "6.2", input: post + "Content-Length: 0\r\n\r\n" + get + end, before: 1, status: 200},
	{name: "leading zeros", section: "9110 8.6", input: post + "Content-Length: 0003\r\n\r\nabc" + get + end, before: 1, status: 200},
	{name: "no length", section: "6.3", input: post + end + get + end, before: 1, status: 200},
	{name: "what follows a body is a request", section: "6.3", input: post + "Content-Length: 2\r\n\r\nab\x00", before: 1, status: 400, closes: true},
	{name: "equal lengths", section: "6.3", input: post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", status: 400, closes: true},
	{name: "different lengths", section: "6.3", input: post + "Content-Length: 3\r\nContent-Length: 0\r\n\r\nabc", status: 400, closes: true},
	{name: "list of equal lengths", section: "6.3", input: post + "Content-Length: 3, 3\r\n\r\nabc", status: 400, closes: true},
	{name: "list of lengths", section: "6.3", input: post + "Content-Length: 3, 0\r\n\r\nabc", status: 400, closes: true},
	{name: "negative length", section: "9110 8.6", input: post + "Content-Length: -3\r\n\r\nabc", status: 400, closes: true},
	{name: "length with plus", section: "9110 8.6", input: post + "Content-Length: +3\r\n\r\nabc", status: 400, closes: true},
	{name: "hexadecimal length", section: "9110 8.6", input: post + "Content-Length: 0x3\r\n\r\nabc", status: 400, closes: true},
	{name: "length with point", section: "9110 8.6", input: post + "Content-Length: 3.0\r\n\r\nabc", status: 400, closes: true},
	{name: "length with underscore", section: "9110 8.6", input: post + "Content-Length: 1_0\r\n\r\nabcdefghij", status: 400, closes: true},
	{name: "length with space", section: "9110 8.6", input: post + "Content-Length: 1 0\r\n\r\nabcdefghij", status: 400, closes: true},
	{name: "length in quotes", section: "9110 8.6", input: post + "Content-Length: \"3\"\r\n\r\nabc", status: 400, closes: true},
	{name: "empty length", section: "9110 8.6", input: post + "Content-Length:\r\n\r\n", status: 400, closes: true},
	{name: "length in other digits", section: "9110 8.6", input: post + "Content-Length: \xd9\xa3\r\n\r\nabc", status: 400, closes: true},
	{name: "length beyond the limit", section: "9110 15.5.14", input: post + "Content-Length: 65537\r\n\r\n" + strings.Repeat("a", 65537), status: 413, closes: true},
	{name: "length of 2^64", section: "9110 8.6", input: post + "Content-Length: 18446744073709551616\r\n\r\n", status: 413, closes: true},
	{name: "length of 2^64+3", section: "9110 8.6", input: post + "Content-Length: 18446744073709551619\r\n\r\nabc", status: 413, closes: true},
	{name: "length of 40 digits", section: "9110 8.6", input: post + "Content-Length: " + strings.Repeat("9", 40) + "\r\n\r\n", status: 413, closes: true},
	{name: "length and coding", section: "6.1", input: post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + empty, status: 400, closes: true},
	{name: "coding and length", section: "6.1", input: post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + empty, status: 400, closes: true},
	{name: "length zero and coding", section: "6.1", input: post + "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n" + empty, status: 400, closes: true},
	{name: "length, coding and length", section: "6.1", input: post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + empty, status: 400, closes: true},
	{name: "length and coding, other case", section: "6.1", input: post + "content-length: 3\r\nTRANSFER-ENCODING: chunked\r\n\r\n" + empty, status: 400, closes: true},
	{name: "length and coding in HTTP/1.0", section: "6.1", input: "POST / HTTP/1.0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + empty, status: 400, closes: true},
	{name: "length with underscore in name", section: "5.1", input: post + "Content_Length: 3\r\n\r\n" + get + end, before: 1, status: 200},
}

// coding is a request with that Transfer-Encoding.
func coding(s string) string {
	return post + "Transfer-Encoding:" + s + "\r\n\r\n" + empty
}

var conformanceCodings = []conformanceCase{
	{name: "chunked", section: "6.1", input: coding(" chunked"), status: 200},
	{name: "CHUNKED", section: "7", input: coding(" CHUNKED"), status: 200},
	{name: "chunked in white space", section: "5", input: coding(" \tchunked\t "), status: 200},
	{name: "chunked, then a request", section: "7.1", input: coding(" chunked") + get + end, before: 1, status: 200},
	{name: "chunked in HTTP/1.0", section: "6.1", input: "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + empty, status: 400, closes: true},
	{name: "chunked twice", section: "6.1", input: coding(" chunked, chunked"), status: 400, closes: true},
	{name: "chunked in two fields", section: "6.1", input: post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + empty, status: 400, closes: true},
	{name: "gzip, chunked", section: "6.1", input: coding(" gzip, chunked"), status: 501, closes: true},
	{name: "gzip and chunked in two fields", section: "6.1", input: post + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + empty, status: 501, closes: true},
	{name: "chunked, gzip", section: "6.3", input: coding(" chunked, gzip"), status: 400, closes: true},
	{name: "chunked and identity in two fields", section: "6.3", input: post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + empty, status: 400, closes: true},
	{name: "gzip", section: "6.3", input: coding(" gzip"), status: 400, closes: true},
	{name: "identity", section: "6.3", input: coding(" identity"), status: 400, closes: true},
	{name: "identity and length", section: "6.1", input: post + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n" + empty, status: 400, closes: true},
	{name: "empty coding", section: "6.1", input: coding(""), status: 400, closes: true},
	{name: "empty element first", section: "6.1", input: coding(" , chunked"), status: 400, closes: true},
	{name: "empty element last", section: "6.1", input: coding(" chunked,"), status: 400, closes: true},
	{name: "chunked in quotes", section: "6.1", input: coding(" \"chunked\""), status: 400, closes: true},
	{name: "chunked with parameter", section: "7", input: coding(" chunked;a=b"), status: 400, closes: true},
	{name: "chunked with a dot", section: "6.1", input: coding(" chunked."), status: 400, closes: true},
	{name: "xchunked", section: "6.3", input: coding(" xchunked"), status: 400, closes: true},
	{name: "vertical tab before chunked", section: "9110 5.5", input: coding(" \vchunked"), status: 400, closes: true},
	{name: "NUL after chunked", section: "9110 5.5", input: coding(" chunked\x00"), status: 400, closes: true},
	{name: "no-break space before chunked", section: "6.1", input: coding(" \xa0chunked"), status: 400, closes: true},
	{name: "chunked with space inside", section: "6.1", input: coding(" chu nked"), status: 400, closes: true},
}

var conformanceChunks = []conformanceCase{
	{name: "two chunks", section: "7.1", input: te + "3\r\nabc\r\n2\r\nde\r\n" + empty + get + end, before: 1, status: 200},
	{name: "hexadecimal size", section: "7.1", input: te + "a\r\n0123456789\r\nA\r\n0123456789\r\n" + empty, status: 200},
	{name: "zeros before size", section: "7.1", input: te + "0003\r\nabc\r\n" + empty, status: 200},
	{name: "many zeros for the last chunk", section: "7.1", input: te + "0000\r\n\r\n" + get + end, before: 1, status: 200},
	{name: "data that look like framing", section: "7.1", input: te + "5\r\n0\r\n\r\n\r\n" + empty + get + end, before: 1, status: 200},
	{name: "extension", section: "7.1.1", input: te + "3;a=b\r\nabc\r\n0;c\r\n\r\n", status: 200},
	{name: "quoted extension", section: "7.1.1", input: te + "3;a=\"b;c\"\r\nabc\r\n" + empty, status: 200},
	{name: "white space before extension", section: "7.1.1", input: te + "3 ;a\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "trailer", section: "7.1.2", input: te + "0\r\nA: b\r\nC: d\r\n\r\n" + get + end, before: 1, status: 200},
	{name: "announced trailer", section: "9110 6.6.2", input: post + "Trailer: A\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", status: 200},
	{name: "no size", section: "7.1", input: te + "\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "extension without size", section: "7.1", input: te + ";a\r\n" + empty, status: 400, closes: true},
	{name: "size is no number", section: "7.1", input: te + "x\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "size with 0x", section: "7.1", input: te + "0x3\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "size with minus", section: "7.1", input: te + "-3\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "size with plus", section: "7.1", input: te + "+3\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "size with underscore", section: "7.1", input: te + "0_3\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "space before size", section: "7.1", input: te + " 3\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "space after size", section: "7.1", input: te + "3 \r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "size of 17 digits", section: "7.1", input: te + "00000000000000003\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "size of 2^64+3", section: "7.1", input: te + "10000000000000003\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "size of 2^64-1", section: "9110 15.5.14", input: te + "ffffffffffffffff\r\nabc", status: 413, closes: true},
	{name: "size of 2^63", section: "9110 15.5.14", input: te + "8000000000000000\r\nabc", status: 413, closes: true},
	{name: "chunk beyond the limit", section: "9110 15.5.14", input: te + "10001\r\n", status: 413, closes: true},
	{name: "chunks beyond the limit", section: "9110 15.5.14", input: te + "8000\r\n" + strings.Repeat("a", 1<<15) + "\r\n8001\r\n", status: 413, closes: true},
	{name: "LF after size", section: "2.2", input: te + "3\nabc\r\n" + empty, status: 400, closes: true},
	{name: "CR alone after size", section: "2.2", input: te + "3\rabc\r\n" + empty, status: 400, closes: true},
	{name: "LF in extension", section: "7.1.1", input: te + "3;a\nabc\r\n" + empty, status: 400, closes: true},
	{name: "CR in extension", section: "7.1.1", input: te + "3;a\rb\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "NUL in extension", section: "7.1.1", input: te + "3;\x00\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "extension too long", section: "7.1.1", input: te + "3;" + strings.Repeat("a", 5<<10) + "\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "extensions too long together", section: "7.1.1", input: te + strings.Repeat("1;"+strings.Repeat("a", 100)+"\r\nb\r\n", 50) + empty, status: 400, closes: true},
	{name: "chunk too short", section: "7.1", input: te + "2\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "chunk too long", section: "7.1", input: te + "4\r\nabc\r\n" + empty, status: 400, closes: true},
	{name: "LF after data", section: "7.1", input: te + "3\r\nabc\n" + empty, status: 400, closes: true},
	{name: "no line end after data", section: "7.1", input: te + "3\r\nabc" + empty, status: 400, closes: true},
	{name: "LF after last chunk", section: "2.2", input: te + "0\n\n", status: 400, closes: true},
	{name: "LF ends trailer", section: "2.2", input: te + "0\r\nA: b\n\r\n", status: 400, closes: true},
	{name: "LF instead of last line", section: "2.2", input: te + "0\r\n\n", status: 400, closes: true},
	{name: "trailer without colon", section: "7.1.2", input: te + "0\r\nabc\r\n\r\n", status: 400, closes: true},
	{name: "trailer folded", section: "5.2", input: te + "0\r\nA: b\r\n c\r\n\r\n", status: 400, closes: true},
	{name: "trailer with NUL", section: "9110 5.5", input: te + "0\r\nA: \x00\r\n\r\n", status: 400, closes: true},
	{name: "trailer with space before colon", section: "5.1", input: te + "0\r\nA : b\r\n\r\n", status: 400, closes: true},
	{name: "length in trailer", section: "9110 6.5.1", input: te + "0\r\nContent-Length: 3\r\n\r\n", status: 400, closes: true},
	{name: "coding in trailer", section: "9110 6.5.1", input: te + "0\r\nTransfer-Encoding: chunked\r\n\r\n", status: 400, closes: true},
	{name: "Host in trailer", section: "9110 6.5.1", input: te + "0\r\nHost: b\r\n\r\n", status: 400, closes: true},
	{name: "Connection in trailer", section: "9110 6.5.1", input: te + "0\r\nConnection: close\r\n\r\n", status: 400, closes: true},
	{name: "announced length in trailer", section: "9110 6.6.2", input: post + "Trailer: A, Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n" + empty, status: 400, closes: true},
	{name: "trailer too large", section: "6585 5", input: te + "0\r\nA: " + strings.Repeat("b", 5<<10) + "\r\n\r\n", status: 431, closes: true},
	{name: "too many trailer fields", section: "6585 5", input: te + "0\r\n" + strings.Repeat("A: b\r\n", 33) + end, status: 431, closes: true},
}

// extension is a chunk of three bytes after that line.
func extension(name, line string, status int) conformanceCase {
	input := te + line + "\r\nabc\r\n" + empty
	return conformanceCase{name: name, section: "7.1.1", input: input, status: status, closes: status != 200}
}

var conformanceExtensions = []conformanceCase{
	extension("extension with blanks", "3; \ta \t= b", 200),
	extension("several extensions", "3;a ; b=\"c\"; d", 200),
	extension("extension of token characters", "3;!#$%&'*+-.^_`|~1", 200),
	extension("empty quoted extension", "3;a=\"\"", 200),
	extension("escapes in quoted extension", "3;a=\"\\\"\\\\;\xff\"", 200),
	extension("empty extension", "3;", 400),
	extension("blank extension", "3; ", 400),
	extension("empty extension first", "3;;a", 400),
	extension("empty extension last", "3;a;", 400),
	extension("blank after extension", "3;a ", 400),
	extension("blank after value", "3;a=b ", 400),
	extension("blank after quoted value", "3;a=\"b\" ", 400),
	extension("extension without name", "3;=a", 400),
	extension("quoted name", "3;\"a\"", 400),
	extension("bracket in extension", "3;bad[=x", 400),
	extension("extension without value", "3;a=", 400),
	extension("two values", "3;a=b=c", 400),
	extension("two words in extension", "3;a b", 400),
	extension("two words in value", "3;a=b c", 400),
	extension("quote in value", "3;a=b\"", 400),
	extension("quoted extension not closed", "3;a=\"b", 400),
	extension("quote escaped at the end", "3;a=\"\\\"", 400),
	extension("token after quotes", "3;a=\"b\"c", 400),
	extension("NUL in quoted extension", "3;a=\"\x00\"", 400),
	extension("NUL escaped in extension", "3;a=\"\\\x00\"", 400),
	extension("DEL in quoted extension", "3;a=\"\x7f\"", 400),
	extension("UTF-8 in extension", "3;\xc3\xa9", 400),
	extension("LF in quoted extension", "3;a=\"\n\"", 400),
}

var conformanceConnections = []conformanceCase{
	{name: "close", section: "9.6", input: get + "Connection: close\r\n\r\n", status: 200, closes: true},
	{name: "Close in other case", section: "9.6", input: get + "Connection: CLOSE\r\n\r\n", status: 200, closes: true},
	{name: "close in a list", section: "9.6", input: get + "Connection: foo, close\r\n\r\n", status: 200, closes: true},
	{name: "close in a second field", section: "9.6", input: get + "Connection: foo\r\nConnection: close\r\n\r\n", status: 200, closes: true},
	{name: "close wins over keep-alive", section: "9.3", input: get + "Connection: keep-alive, close\r\n\r\n", status: 200, closes: true},
	{name: "nothing after close is answered", section: "9.6", input: get + "Connection: close\r\n\r\n" + get + end, status: 200, closes: true},
	{name: "enclosed is not close", section: "9.6", input: get + "Connection: enclosed\r\n\r\n", status: 200},
	{name: "empty elements", section: "9110 5.6.1.2", input: get + "Connection: , foo,,\r\n\r\n", status: 200},
	{name: "quoted option", section: "9110 7.6.1", input: get + "Connection: \"close\"\r\n\r\n", status: 400, closes: true},
	{name: "keep-alive in HTTP/1.0", section: "9.3", input: "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", status: 200},
	{name: "Keep-Alive, close in HTTP/1.0", section: "9.3", input: "GET / HTTP/1.0\r\nConnection: Keep-Alive, close\r\n\r\n", status: 200, closes: true},
	{name: "expectation unknown", section: "9110 10.1.1", input: post + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\na", status: 417, closes: true},
	{name: "expectations alike", section: "9110 10.1.1", input: get + "Expect: 100-continue, 100-Continue,\r\n\r\n", status: 200},
	{name: "expectations, one unknown", section: "9110 10.1.1", input: post + "Expect: 100-continue, 200-ok\r\nContent-Length: 1\r\n\r\na", status: 417, closes: true},
	{name: "no expectation", section: "9110 10.1.1", input: get + "Expect:\r\n\r\n", status: 200},
	{name: "expectation in HTTP/1.0", section: "9110 10.1.1", input: "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na", status: 200, closes: true},
}
