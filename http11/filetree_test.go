package http11

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// newTree creates files, each holding its own name, next to a secret outside
// the root.
func newTree(t *testing.T, names ...string) *os.Root {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	for _, name := range append(names, "../secret") {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"out": "../secret", "absolute": filepath.Join(filepath.Dir(dir), "secret"), "outdir": "..",
		"in": "d/x.txt", "indir": "d",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// fetch requests a target verbatim.
func fetch(t *testing.T, addr, method, target string) (*http.Response, string) {
	t.Helper()
	got := talk(t, addr, method+" "+target+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false)
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(got)), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s: %v in %q", target, err, got)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v in %q", target, err, got)
	}
	return resp, string(body)
}

func TestFileTree(t *testing.T) {
	unix := runtime.GOOS != "windows"
	names := []string{"index.html", "a.txt", "d/index.html", "d/x.txt", "bare/x.txt", ".env", ".git/config",
		"d/.hidden", ".well-known/security.txt", "a b/index.html", "host.example/index.html", "..d/x", "100%/index.html"}
	if unix {
		names = append(names, `\host.example/index.html`, "é/index.html", "\xe9/x", "a:b/index.html", `q"<>/index.html`)
	}
	root := newTree(t, names...)
	const none = "not found\n"
	cases := []struct {
		target, want string // "301 Location" or the content of the answer
		dotfiles     string // the same with Dotfiles, if different
	}{
		{"/", "index.html", ""},
		{"/a.txt", "a.txt", ""},
		{"/a.txt?q", "a.txt", ""},
		{"/a.txt/", none, ""},
		{"/d", "301 ./d/", ""},
		{"/d?a=b&c=%2f[", "301 ./d/?a=b&c=%2f[", ""},
		{"/d?", "301 ./d/", ""},
		{"/d/", "d/index.html", ""},
		{"/%64/x.txt", "d/x.txt", ""},
		{"/%64", "301 ./%64/", ""},
		{"/bare", "301 ./bare/", ""},
		{"/bare/", none, ""},
		{"/a%20b", "301 ./a%20b/", ""},
		{"/100%25", "301 ./100%25/", ""},
		{"/100%", none, ""},
		{"//host.example", "301 ./host.example/", ""},
		{"//host.example/", "host.example/index.html", ""},
		{"///host.example?//b", "301 ./host.example/?//b", ""},
		{"http://other/d", "301 ./d/", ""},
		{"http://other", "index.html", ""},
		{"/.env", none, ".env"},
		{"/%2eenv", none, ".env"},
		{"/.git", none, "301 ./.git/"},
		{"/.git/config", none, ".git/config"},
		{"/%2Egit/config", none, ".git/config"},
		{"//.git/config", none, ".git/config"},
		{"/d/.hidden", none, "d/.hidden"},
		{"/.well-known/security.txt", none, ".well-known/security.txt"},
		{"/..d/x", none, "..d/x"},
		{"/in", "d/x.txt", ""},
		{"/indir", "301 ./indir/", ""},
		{"/indir/x.txt", "d/x.txt", ""},
		{"/out", none, ""},
		{"/absolute", none, ""},
		{"/outdir", none, ""},
		{"/outdir/", none, ""},
		{"/outdir/secret", none, ""},
		{"/../secret", none, ""},
		{"/d/../../secret", none, ""},
		{"/d/../a.txt", none, ""},
		{"/d/..", none, ""},
		{"/d/.", none, ""},
		{"/./a.txt", none, ""},
		{"/%2e%2e/secret", none, ""},
		{"/..%2fsecret", none, ""},
		{"/%2e%2e%2Fsecret", none, ""},
		{"/d%2fx.txt", none, ""},
		{"/d%2F", none, ""},
		{"/%2fd", none, ""},
		{"/d%5c..%5c..%5csecret", none, ""},
		{`/..\secret`, none, ""},
		{"/a.txt%00", none, ""},
		{"/a.txt%00.html", none, ""},
		{"/%00", none, ""},
		{"/d%00", none, ""},
		{"/a.txt%zz", none, ""},
		{"/none", none, ""},
		{"/none/", none, ""},
	}
	if unix {
		cases = append(cases, []struct{ target, want, dotfiles string }{
			{`/\host.example`, `301 ./\host.example/`, ""},
			{"/%5Chost.example", "301 ./%5Chost.example/", ""},
			{"/a:b", "301 ./a:b/", ""},
			{"/é", "301 ./é/", ""},
			{"/%E9/x", "\xe9/x", ""},
			{"/\xe9/x", "\xe9/x", ""},
			{`/q"<>`, `301 ./q"<>/`, ""},
		}...)
	}
	eachEngine(t, func(t *testing.T) {
		for _, tree := range []FileTree{{Root: root}, {Root: root, Dotfiles: true}} {
			addr := serve(t, &Server{Handler: tree})
			for _, c := range cases {
				want := c.want
				if tree.Dotfiles && c.dotfiles != "" {
					want = c.dotfiles
				}
				resp, got := fetch(t, addr, "GET", c.target)
				if resp.StatusCode == 301 {
					got = "301 " + resp.Header.Get("Location")
					leadsToSlash(t, c.target, resp.Header.Get("Location"))
				}
				if got != want || got == none && resp.StatusCode != 404 {
					t.Errorf("%s, dotfiles %v: %d with %q, want %q", c.target, tree.Dotfiles, resp.StatusCode, got, want)
				}
			}
		}
	})
}

// leadsToSlash checks that a client following location asks the same host for
// the target with a slash after its path.
func leadsToSlash(t *testing.T, target, location string) {
	t.Helper()
	base := &url.URL{Scheme: "http", Host: "h"}
	path, query, _ := strings.Cut(strings.TrimPrefix(target, "http://other"), "?")
	base.RawPath = path
	var err error
	if base.Path, err = url.PathUnescape(path); err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(location)
	if err != nil {
		t.Fatal(err)
	}
	want := &url.URL{Scheme: "http", Host: "h", Path: base.Path + "/", RawPath: path + "/", RawQuery: query}
	if got := base.ResolveReference(to); got.Host != "h" || got.Path != want.Path || got.RawQuery != query {
		t.Errorf("%s: Location %q leads to %v, want %v", target, location, got, want)
	}
	if !strings.HasPrefix(location, "./") || strings.Count(location[2:], "/")-strings.Count(query, "/") != 1 {
		t.Errorf("%s: Location %q, want one element after ./", target, location)
	}
}

func TestFileTreePrefix(t *testing.T) {
	root := newTree(t, "index.html", "d/index.html", "small.txt", ".env")
	for _, prefix := range []string{"/files", "/files/"} {
		addr := serve(t, &Server{Handler: Files(root, prefix)})
		for target, want := range map[string]int{
			"/files": 301, "/files?a": 301, "/files/": 200, "/files/d": 301, "/files/d/": 200, "/files/small.txt": 200,
			"/%66iles/small.txt": 200, "/filesmall.txt": 404, "/files%2fsmall.txt": 404, "/small.txt": 404, "/": 404,
			"/other/../files/small.txt": 404, "/files/../files/small.txt": 404, "/files/.env": 404, "//files/d": 404,
		} {
			for _, method := range []string{"GET", "HEAD"} {
				if resp, _ := fetch(t, addr, method, target); resp.StatusCode != want {
					t.Errorf("prefix %s, %s %s: status %d, want %d", prefix, method, target, resp.StatusCode, want)
				}
			}
		}
		for target, want := range map[string]int{"/files": 404, "/files/d": 404, "/files/small.txt": 405} {
			resp, _ := fetch(t, addr, "POST", target)
			if resp.StatusCode != want || want == 405 && resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("prefix %s, POST %s: %v, want status %d", prefix, target, resp, want)
			}
		}
	}
	// The reference is right when mounted behind a prefix that net/http strips.
	mounted := http.StripPrefix("/mounted", &Server{Handler: Files(root, "/")})
	addr := serve(t, &Server{Handler: Adapt(mounted)})
	if resp, _ := fetch(t, addr, "GET", "/mounted/d?q"); resp.Header.Get("Location") != "./d/?q" {
		t.Errorf("mounted: status %d, Location %q", resp.StatusCode, resp.Header.Get("Location"))
	}
}
