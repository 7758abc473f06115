package tune

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/runner"
	"github.com/isobar-go/isobar/internal/lab/workload"
)

// A corpusProgram is a real program. scripts/tune-corpus.sh puts them into the
// directory that ISOBAR_CORPUS names. The model's constants are from those of
// round 0.
type corpusProgram struct {
	Name, What string
	// Command is one of the shell; $D is the directory, and $R Go's own.
	Command string
	URL     string // of a server
	Load    string // of a server that the built-in load does not speak to; a command of the shell
	// Round says what was settled when the program was recorded: 0 nothing, 1 costs
	// and widths of intervals, 2 all of the model. Those of round 3 only judge: they
	// were chosen before the search knew limits, and nothing is fitted to them. Those
	// of round 4 were chosen before intervals came from the errors of the runs at hand,
	// and ran once, after it.
	Round int
}

var corpus = []corpusProgram{
	{Name: "compile", What: "the Go compiler on text/template", Command: `cd $R/src/text/template && exec $R/pkg/tool/*/compile -o /dev/null -p text/template -complete -importcfg $D/importcfg $(cat $D/files)`},
	{Name: "vet", What: "the checks of go vet on net/http", Command: `cd $R/src/net/http && exec $R/pkg/tool/*/vet $D/vet.cfg`},
	{Name: "deadcode", What: "x/tools deadcode on cmd/pack: types and SSA form of a program and all it imports", Command: `cd $R/src && exec $D/bin/deadcode cmd/pack`},
	{Name: "json", What: "the benchmark CodeDecoder of encoding/json", Command: `cd $R/src/encoding/json && exec $D/bin/json.test -test.run '^$' -test.bench '^BenchmarkCodeDecoder$' -test.benchtime 25x`},
	{Name: "series", What: "Prometheus' time-series database: 600,000 samples appended, read twice", Command: `exec $D/bin/series`},
	{Name: "markdown", What: "goldmark on a document of 100 KB, 120 times", Command: `exec $D/bin/markdown $D/document.md`},
	{Name: "market", What: "the lab's market workload, 3,000,000 ticks without a pace", Command: `exec $D/bin/market`},
	{Name: "gofmt", What: "gofmt -l on net/http", Command: `cd $R && exec bin/gofmt -l src/net/http`},
	{Name: "service", What: "an HTTP service of JSON and templates at 400 requests a second (CPU time)", Command: `exec $D/bin/service 127.0.0.1:18479`, URL: "http://127.0.0.1:18479/items?from=100"},
	{Name: "types", Round: 1, What: "the benchmark Check of go/types on net/http", Command: `cd $R/src/go/types && exec $D/bin/types.test -test.run '^$' -test.bench '^BenchmarkCheck$/^http$/^funcbodies$/^info$' -test.benchtime 2x`},
	{Name: "template", Round: 1, What: "the benchmark EscapedExecute of html/template", Command: `cd $R/src/html/template && exec $D/bin/template.test -test.run '^$' -test.bench '^BenchmarkEscapedExecute$' -test.benchtime 60000x`},
	{Name: "xml", Round: 1, What: "the benchmark Unmarshal of encoding/xml", Command: `cd $R/src/encoding/xml && exec $D/bin/xml.test -test.run '^$' -test.bench '^BenchmarkUnmarshal$' -test.benchtime 12000x`},
	{Name: "golist", Round: 1, What: "go list -deps std", Command: `cd $R/src && exec $R/bin/go list -deps std`},
	{Name: "link", Round: 2, What: "the Go linker on the vet command", Command: `exec $R/pkg/tool/*/link -o $D/link.out -importcfg $D/link.cfg $(cat $D/link.main)`},
	{Name: "parser", Round: 2, What: "the benchmark Parse of go/parser", Command: `cd $R/src/go/parser && exec $D/bin/parser.test -test.run '^$' -test.bench '^BenchmarkParse$' -test.benchtime 150x`},
	{Name: "yaml", Round: 3, What: "goccy/go-yaml: a document of 700 KB read and written", Command: `exec $D/bin/yaml $D/orders.json`},
	{Name: "query", Round: 3, What: "gojq: orders grouped and summed, 30 times", Command: `exec $D/bin/query $D/orders.json`},
	{Name: "config", Round: 3, What: "jsonnet: a configuration of 120 objects by recursion", Command: `exec $D/bin/jsonnet -e 'local f(n) = { name: "host%d" % n, tags: [std.format("t%d", i) for i in std.range(0, 9)], sum: std.foldl(function(a, b) a + b, std.range(1, 20), 0) }; [f(n) for n in std.range(1, 120)]'`},
	{Name: "script", Round: 3, What: "goja: a program in JavaScript that counts and sorts words", Command: `exec $D/bin/script`},
	{Name: "highlight", Round: 3, What: "chroma: a Go file of 200 KB as HTML, four times", Command: `exec $D/bin/highlight $R/src/net/http/server.go`},
	{Name: "fiber", Round: 3, What: "fiber: orders as JSON at 400 requests a second (CPU time)", Command: `exec $D/bin/fiber 127.0.0.1:18481`, URL: "http://127.0.0.1:18481/orders?from=100"},
	{Name: "graphql", Round: 3, What: "graphql-go: a query three levels deep at 400 requests a second (CPU time)", Command: `exec $D/bin/graphql 127.0.0.1:18482`, URL: "http://127.0.0.1:18482/?query=%7Bperson(id:7)%7Bname,age,friends%7Bname,friends%7Bage%7D%7D%7D%7D"},
	{Name: "search", Round: 3, What: "bleve: full-text queries at 400 requests a second (CPU time)", Command: `exec $D/bin/search 127.0.0.1:18483`, URL: "http://127.0.0.1:18483/?q=word7"},
	{Name: "keys", Round: 3, What: "miniredis: 60,000 pairs of SET and GET in pipelines (CPU time)", Command: `exec $D/bin/keys 127.0.0.1:18484`, URL: "http://127.0.0.1:18484/", Load: `$D/bin/load keys 127.0.0.1:18484`},
	{Name: "names", Round: 3, What: "miekg/dns: 40,000 questions over one connection (CPU time)", Command: `exec $D/bin/names 127.0.0.1:18485`, URL: "http://127.0.0.1:18485/", Load: `$D/bin/load names 127.0.0.1:18485`},
	{Name: "cue", Round: 4, What: "cue: a configuration of 4,000 services checked against a schema", Command: `exec $D/bin/cue`},
	{Name: "report", Round: 4, What: "gofpdf: a PDF of 1,500 pages of tables", Command: `exec $D/bin/report`},
	{Name: "draw", Round: 4, What: "gg: ten charts drawn and written as PNG", Command: `exec $D/bin/draw`},
	{Name: "invoice", Round: 4, What: "etree: an XML document read, changed and written, eight times", Command: `exec $D/bin/invoice`},
	{Name: "routes", Round: 4, What: "dominikbraun/graph: shortest paths among 14,400 crossings", Command: `exec $D/bin/routes`},
	{Name: "objects", Round: 4, What: "gofakes3: lists of a bucket in memory at 400 requests a second (CPU time)", Command: `exec $D/bin/objects 127.0.0.1:18486`, URL: "http://127.0.0.1:18486/photos?list-type=2&prefix=2026/07/"},
	{Name: "directory", Round: 4, What: "gldap: 600 searches of 50 people each (CPU time)", Command: `exec $D/bin/directory 127.0.0.1:18488`, URL: "http://127.0.0.1:18488/", Load: `$D/bin/ask directory 127.0.0.1:18488`},
	{Name: "rpc", Round: 4, What: "connect: 4,000 calls answered with nested structures (CPU time)", Command: `exec $D/bin/rpc 127.0.0.1:18489`, URL: "http://127.0.0.1:18489/", Load: `$D/bin/ask rpc 127.0.0.1:18489`},
	{Name: "workbook", Round: 5, What: "excelize: a spreadsheet of 12,000 rows written, and read three times", Command: `exec $D/bin/workbook`},
	{Name: "lua", Round: 5, What: "gopher-lua: trees of tables built and walked", Command: `exec $D/bin/lua`},
	{Name: "prefixes", Round: 5, What: "an immutable radix tree filled with 60,000 keys", Command: `exec $D/bin/prefixes`},
	{Name: "crawl", Round: 5, What: "goquery: a page of 8,000 items parsed and searched, 12 times", Command: `exec $D/bin/crawl`},
	{Name: "settings", Round: 5, What: "HCL: 400 services decoded and kept, 14 times", Command: `exec $D/bin/settings`},
	{Name: "shop", Round: 5, What: "gin: a catalogue searched at 400 requests a second (CPU time)", Command: `exec $D/bin/shop 127.0.0.1:18491`, URL: "http://127.0.0.1:18491/search?kind=7"},
	{Name: "pages", Round: 4, What: "jet: a catalogue rendered at 400 requests a second (CPU time)", Command: `exec $D/bin/pages 127.0.0.1:18490`, URL: "http://127.0.0.1:18490/?from=700"},
}

// A corpusResult is what tuning a program gave.
type corpusResult struct {
	Program corpusProgram
	Tuned   *Answer
}

// corpusConfig says how to tune a program of the corpus.
func corpusConfig(t *testing.T, dir string, p corpusProgram) Config {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$D", dir, "$R", strings.TrimSpace(string(root)))
	command := fill.Replace(p.Command)
	base := cell.Config{Workload: "exec", Command: []string{"sh", "-c", command}, GC: cell.DefaultGC}
	c := Config{Base: base, Objective: Throughput, Budget: 60 * time.Second, Pairs: 8, Seed: 1, MemoryBytes: 4 << 30}
	if p.URL != "" {
		w, err := workload.Lookup("serve")
		if err != nil {
			t.Fatal(err)
		}
		given := map[string]string{"url": p.URL, "rate": "400", "for": "1s", "warmup": "300ms"}
		if p.Load != "" {
			given["load"], given["ready"] = fill.Replace(p.Load), strings.TrimSuffix(strings.TrimPrefix(p.URL, "http://"), "/")
		}
		params, err := w.Resolve(given)
		if err != nil {
			t.Fatal(err)
		}
		c.Base.Workload, c.Base.Params, c.Objective = "serve", params, CPU
	}
	return c
}

// corpusRunner runs programs of the corpus, once before all else to fill caches.
func corpusRunner(t *testing.T, base cell.Config) Runner {
	t.Helper()
	r := runner.New(runner.Config{})
	run := func(config cell.Config, block int) (*cell.Record, error) {
		rec, _, err := r.Run(t.Context(), cell.Cell{Config: config, Block: block, Timeout: time.Minute, MemoryBytes: 6 << 30})
		return &rec, err
	}
	if rec, err := run(base, 0); err != nil || rec.Err != nil {
		t.Fatal(err, rec.Err)
	}
	return run
}

// corpusPrograms runs f for each program, with the directory of the corpus.
func corpusPrograms(t *testing.T, programs []corpusProgram, f func(t *testing.T, dir string, p corpusProgram)) {
	dir := os.Getenv("ISOBAR_CORPUS")
	if dir == "" {
		t.Skip("scripts/tune-corpus.sh downloads the programs and runs this")
	}
	for _, p := range programs {
		t.Run(p.Name, func(t *testing.T) { f(t, dir, p) })
	}
}

func keepResult(t *testing.T, dir, name string, v any) {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "results", name+".json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}
