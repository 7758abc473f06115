package http11

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// withoutLimits lets the references take as many pairs as we do.
func withoutLimits(t testing.TB) {
	t.Setenv("GODEBUG", "urlmaxqueryparams=0,httpcookiemaxnum=0")
}

// formOf builds a request that consists of a body, and returns its values.
func formOf(m *memory, body []byte) (Request, Values) {
	r := m.acquire()
	q := Request{r, r.open()}
	r.base[baseBody] = append(r.alloc(len(body))[:0], body...)
	return q, Values{r.part(q.epoch, baseBody, span{0, uint32(len(body))})}
}

func collect(v Values) url.Values {
	all := url.Values{}
	for name, value := range v.All() {
		all.Add(name.String(), value.String())
	}
	return all
}

// agree compares with url.ParseQuery.
func agree(t *testing.T, v Values, text string) {
	want, wantErr := url.ParseQuery(text)
	if got := collect(v); !reflect.DeepEqual(got, want) {
		t.Errorf("%.200q has the values %.500q, want %.500q", text, got, want)
	}
	switch err := v.Err(); wantErr.(type) {
	case url.EscapeError:
		if err != wantErr {
			t.Errorf("%.200q: error %v, want %v", text, err, wantErr)
		}
	default:
		if (err == errSemicolon) != (wantErr != nil) {
			t.Errorf("%.200q: error %v, want one like %v", text, err, wantErr)
		}
	}
	for _, name := range append(some(slices.Collect(maps.Keys(want))), "", "a", "a b", text) {
		got, ok := v.Get(name)
		if ok != want.Has(name) || got.String() != want.Get(name) {
			t.Errorf("%.200q: Get(%.200q) is %.200q, %v, want %.200q, %v", text, name, got, ok, want.Get(name), want.Has(name))
		}
	}
}

// some bounds the number of names to look for, since each takes time.
func some(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), 20)]
}

var someQueries = []string{
	"", "&", "&&", "=", "=&=", "a", "a=", "=b", "a=1&b=2&a=3", "a=b=c", "a==", "a&b&a=1", "q=caf%C3%A9+au%20lait&x=1",
	"%61=1&a=2", "a%3Db=1&a=2", "a%26b=1%262", "a+b=c+d", "a%2Bb=c%2bd", "a;b=1&c=2", "a=1;b&a=2", "a%3Bb=1%3B2",
	"%", "%=1", "a=%", "a=%4", "a=%zz&a=%41", "a=%4&a=1", "%4=1&%=2&a", "a=%%41", "a=1%&a=2%&a=3", "%zz;=%yy&a", "%&;", ";&%", "%zz=%yy",
	"a=%00%ff", "\x80=\xff", "a=" + strings.Repeat("%41", 50), strings.Repeat("k=v+&", 100), strings.Repeat("&", 20_000),
	"a=1&%61=2&%6=3", "++=%2b", "a%=1&a=2", "a=%3d%3D", "=%", ";", "a;", "b&;", "a%=%4&a%4=%",
}

// FuzzQuery compares names, values and errors with url.ParseQuery.
func FuzzQuery(f *testing.F) {
	for _, text := range someQueries {
		f.Add([]byte(text))
	}
	withoutLimits(f)
	m := newTestMemory(f)
	lim := limits{}.withDefaults()
	f.Fuzz(func(t *testing.T, data []byte) {
		form, v := formOf(m, data)
		agree(t, v, string(data))
		form.r.drop()

		r := m.acquire()
		head := append(append([]byte("GET /path?"), data...), " HTTP/1.1\r\nHost: h\r\n\r\n"...)
		if n, err := parseHead(&r.head, head, &lim); n == len(head) && err == nil {
			r.base[baseHead] = head
			agree(t, Request{r, r.open()}.QueryValues(), string(data))
		}
		r.drop()
	})
}

var someCookies = []string{
	"", "a=1", "a=1; b=2; a=3", "a=1;b=2", "a", "a=", "=1", ";", " ; ;a=1", "a=\"1\"", "a=\"", "a=\"\"", "a=\"1", "a=1\"", "a=\"1\"2\"",
	"a = 1", "a= 1 ; b", "a\t=\t1", "a=1,2 3", "a=1\\2", "a b=1; a=2", "a=\xff; a=2", "\xff=1", "a=%41+b", "a=b=c", "a==; A=1",
	"$Version=1; a=2", "a=1\nb=2", "a=1\nb=2\na=3", "a=(1)\n;\n@=2", strings.Repeat("a=1;", 4000), "a=\x7f; a=\x01; a=\tx\t",
}

// FuzzCookies compares names and values with http.Request.Cookies. Lines are
// fields.
func FuzzCookies(f *testing.F) {
	for _, text := range someCookies {
		f.Add([]byte(text))
	}
	withoutLimits(f)
	m := newTestMemory(f)
	lim := limits{}.withDefaults()
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := strings.Split(string(data), "\n")
		head := "GET / HTTP/1.1\r\nHost: h\r\n"
		for _, line := range lines {
			head += "Cookie: " + line + "\r\nX-Between: a=0\r\n"
		}
		head += "\r\n"
		r := m.acquire()
		defer r.drop()
		if n, err := parseHead(&r.head, []byte(head), &lim); n != len(head) || err != nil {
			return
		}
		r.base[baseHead] = []byte(head)
		q := Request{r, r.open()}
		std := &http.Request{Header: http.Header{"Cookie": lines}}
		var got, want []string
		for name, value := range q.Cookies() {
			got = append(got, name.String(), value.String())
		}
		for _, c := range std.Cookies() {
			want = append(want, c.Name, c.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.200q: cookies %.500q, want %.500q", data, got, want)
		}
		for _, name := range append(some(want), "", "a", "A", "a b", "=", string(data)) {
			first, err := std.Cookie(name)
			if err != nil {
				first = &http.Cookie{}
			}
			if value, ok := q.Cookie(name); ok != (err == nil) || value.String() != first.Value {
				t.Errorf("%.200q: Cookie(%.200q) is %.200q, %v, want %.200q, %v", data, name, value, ok, first.Value, err)
			}
		}
	})
}

const withValues = "POST /?q=plain&n=d%C3%A9cod%C3%A9&two+words=1+2 HTTP/1.1\r\nHost: h\r\nCookie: id=abc; theme=\"dark\"\r\n" +
	"Content-Type: Application/X-WWW-Form-Urlencoded ; charset=utf-8\r\nContent-Length: 22\r\n\r\nname=J%C3%BCrgen&age=7"

// Values that need no decoding are parts of the request as sent; others are
// decoded once.
func TestValuesAreViews(t *testing.T) {
	everyMode(t, func(t *testing.T, m *memory) {
		q := begin(t, m, withValues)
		plain, _ := q.QueryValues().Get("q")
		if &plain.UnsafeBytes()[0] != &q.Query().UnsafeBytes()[2] {
			t.Error("a value without escapes was copied")
		}
		first, _ := q.QueryValues().Get("n")
		again, ok := q.QueryValues().Get("n")
		if !ok || !first.Equal("décodé") || &first.UnsafeBytes()[0] != &again.UnsafeBytes()[0] {
			t.Errorf("decoded as %q, then elsewhere as %q", first, again)
		}
		id, _ := q.Cookie("theme")
		if !id.Equal("dark") || !q.Query().Equal("q=plain&n=d%C3%A9cod%C3%A9&two+words=1+2") {
			t.Errorf("the cookie is %q, the query %q", id, q.Query())
		}
		q.r.drop()
	})
}

// Values of a retained request stay valid; those of an ended one panic,
// whatever its memory holds by then.
func TestStaleValuesPanic(t *testing.T) {
	everyMode(t, func(t *testing.T, m *memory) {
		q := begin(t, m, withValues)
		values := q.QueryValues()
		form := Values{q.r.part(q.epoch, baseBody, span{0, uint32(len(q.r.base[baseBody]))})}
		kept := q.Retain()
		r, _ := q.r.detach(nil)
		decoded, _ := values.Get("n") // the first that needs decoding, when the connection has gone on
		name, _ := form.Get("name")
		if !decoded.Equal("décodé") || !name.Equal("Jürgen") {
			t.Errorf("values of a retained request are %q and %q", decoded, name)
		}
		id, _ := q.Cookie("id")
		pairs, cookies := values.All(), q.Cookies()
		kept.Release()
		next := begin(t, m, strings.ReplaceAll(withValues, "plain", "other"))
		next.QueryValues().Get("n")
		for _, view := range []View{decoded, name, id} {
			mustPanic(t, func() { _ = view.String() }, "http11: View.String: the request has ended; copy")
		}
		ended := "the request has ended"
		mustPanic(t, func() { values.Get("n") }, "http11: Values.Get: ", ended)
		mustPanic(t, func() { form.Err() }, "http11: Values.Err: ", ended)
		mustPanic(t, func() { _ = maps.Collect(pairs) }, "http11: Values.All: ", ended)
		mustPanic(t, func() { q.QueryValues() }, "http11: QueryValues: ", ended)
		mustPanic(t, func() { _ = maps.Collect(cookies) }, "http11: Cookies: ", ended)
		mustPanic(t, func() { q.Cookie("id") }, "http11: Cookie: ", ended)
		mustPanic(t, func() { q.Cookie("") }, "http11: Cookie: ", ended)
		next.r.drop()
		r.drop()
	})
}

// Several goroutines may read values at once, even ones not decoded yet, while
// another writes the response.
func TestValuesOnSeveralGoroutines(t *testing.T) {
	each(t, func(t *testing.T, m Memory) {
		addr := serve(t, &Server{Memory: m, Handler: HandlerFunc(func(c *Context) {
			form, err := c.FormValues()
			if err != nil {
				t.Error(err)
			}
			wrong := make(chan string, 4)
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for j := range 20 {
						n, _ := c.QueryValues().Get("n")
						name, _ := form.Get("name")
						id, _ := c.Cookie("id")
						if got := fmt.Sprint(n, name, id, len(collect(c.QueryValues()))); got != "décodé Jürgen abc 3" {
							wrong <- got
							return
						}
						fmt.Fprint(c, i, j)
					}
				})
			}
			wg.Wait()
			select {
			case got := <-wrong:
				t.Error("values are", got)
			default:
			}
		})})
		for i, a := range responses(t, talk(t, addr, strings.Repeat(withValues, 10), true)) {
			if a.status != 200 {
				t.Errorf("response %d has the status %d", i, a.status)
			}
		}
	})
}

// Reading values does not allocate, neither the first time in a request nor
// later.
func TestValuesDoNotAllocate(t *testing.T) {
	if raceOrDebug {
		t.Skip("checks allocate")
	}
	everyMode(t, func(t *testing.T, m *memory) {
		q := begin(t, m, withValues)
		form := Values{q.r.part(q.epoch, baseBody, span{0, uint32(len(q.r.base[baseBody]))})}
		sum := 0
		for op, f := range map[string]func(){
			"QueryValues.Get": func() { v, _ := q.QueryValues().Get("n"); sum += v.Len() },
			"first Get": func() {
				q.r.base[baseQuery], q.r.off = nil, q.r.off-len(q.r.base[baseQuery])
				v, _ := q.QueryValues().Get("n")
				sum += v.Len()
			},
			"FormValues.Get": func() { v, _ := form.Get("name"); sum += v.Len() },
			"Cookie":         func() { v, _ := q.Cookie("theme"); sum += v.Len() },
			"Err":            func() { _ = q.QueryValues().Err() },
			"All": func() {
				for name, value := range q.QueryValues().All() {
					sum += name.Len() + value.Len()
				}
			},
			"Cookies": func() {
				for name, value := range q.Cookies() {
					sum += name.Len() + value.Len()
				}
			},
		} {
			if allocs := testing.AllocsPerRun(100, f); allocs != 0 {
				t.Errorf("%s: %v allocations, want none", op, allocs)
			}
		}
		if sum == 0 {
			t.Error("nothing was read")
		}
		q.r.drop()
	})
}

// A form is read whole, by length or in chunks; anything else is not a form.
func TestFormValues(t *testing.T) {
	eachEngine(t, func(t *testing.T) {
		type outcome struct {
			values    url.Values
			err, late error
		}
		outcomes := make(chan outcome, 2)
		var before atomic.Pointer[Context]
		addr := serve(t, &Server{MaxBodyBytes: 1000, Handler: HandlerFunc(func(c *Context) {
			var o outcome
			if last := before.Swap(c); last != nil {
				_, o.late = last.FormValues()
			}
			var form Values
			if form, o.err = c.FormValues(); o.err == nil {
				o.values = collect(form)
			}
			outcomes <- o
		})})
		const kind = "Content-Type: application/x-www-form-urlencoded\r\n"
		head := "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
		long := strings.Repeat("a=%41&", 100)
		for i, c := range []struct {
			name, request, want string
			err                 error
			status              int
		}{
			{"length", head + kind + "Content-Length: 9\r\n\r\na=1&b=%41", "a=1&b=A", nil, 200},
			{"empty", head + kind + "Content-Length: 0\r\n\r\n", "", nil, 200},
			{"chunks", head + kind + "Transfer-Encoding: chunked\r\n\r\n5\r\na=1&b\r\n4\r\n=%41\r\n0\r\n\r\n", "a=1&b=A", nil, 200},
			{"long", head + kind + "Content-Length: 600\r\n\r\n" + long, strings.Repeat("a=A&", 99) + "a=A", nil, 200},
			{"parameters", head + "Content-Type:\tapplication/x-www-FORM-urlencoded\t; a=b\r\nContent-Length: 1\r\n\r\na", "a=", nil, 200},
			{"another type", head + "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\na", "", ErrNotForm, 200},
			{"no type", head + "Content-Length: 1\r\n\r\na", "", ErrNotForm, 200},
			{"too long", head + kind + "Transfer-Encoding: chunked\r\n\r\n500\r\n", "", errBodyLong, 413},
		} {
			reply := responses(t, talk(t, addr, c.request, false))
			got := <-outcomes
			want, _ := url.ParseQuery(c.want) // it is valid
			switch {
			case len(reply) != 1 || reply[0].status != c.status:
				t.Errorf("%s: answered with %v, want %d", c.name, reply, c.status)
			case c.err == nil && got.err != nil || !errors.Is(got.err, c.err):
				t.Errorf("%s: error %v, want %v", c.name, got.err, c.err)
			case c.err == nil && !reflect.DeepEqual(got.values, want):
				t.Errorf("%s: %v, want %v", c.name, got.values, want)
			case i > 0 && !errors.Is(got.late, ErrEnded):
				t.Errorf("%s: late, of the request before: %v, want %v", c.name, got.late, ErrEnded)
			}
		}
	})
}
