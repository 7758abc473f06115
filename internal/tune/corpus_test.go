package tune

import (
	"cmp"
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

// A corpusProgram is a real program. scripts/tune-corpus.sh downloads them into the
// directory ISOBAR_CORPUS.
type corpusProgram struct {
	Name, What string
	// Command is a shell command; $D is the directory, and $R is GOROOT.
	Command string
	URL     string // of a server
	// Fits says that the model was developed with the program: its recorded runs are in
	// testdata/scans. The other programs only judge: they were chosen before any of them ran, and
	// each is judged once after the model was settled.
	Fits bool
	// Rate is the load on a server, 200 a second if empty. Objective is the figure of
	// a program whose work per run varies.
	Rate      string
	Objective Objective
}

var corpus = []corpusProgram{
	{Name: "gofmt", Fits: true, What: "gofmt -l on net/http", Command: `cd $R && exec bin/gofmt -l src/net/http`},
	{Name: "query", Fits: true, What: "gojq: orders grouped and summed, 30 times", Command: `exec $D/bin/query $D/orders.json`},
	{Name: "cue", Fits: true, What: "cue: a configuration of 4,000 services checked against a schema", Command: `exec $D/bin/cue`},
	{Name: "invoice", Fits: true, What: "etree: an XML document read, changed and written, eight times", Command: `exec $D/bin/invoice`},
	{Name: "games", What: "chess: 25 games played at random, written and read", Command: `exec $D/bin/games`},
	{Name: "letters", What: "enmime: 200 e-mails with attachments written and read, some kept", Command: `exec $D/bin/letters`},
	{Name: "columns", What: "parquet-go: 8,000 rows written to columns and read, 16 times", Command: `exec $D/bin/columns`},
	{Name: "calendar", What: "golang-ical and rrule-go: 360 recurring events expanded, written and read", Command: `exec $D/bin/calendar`},
	{Name: "grammar", What: "prose: English sentences split into words that are tagged", Command: `exec $D/bin/grammar`},
	{Name: "access", What: "casbin: a server that decides twelve times who may do what", Command: `exec $D/bin/access 127.0.0.1:18501`,
		URL: "http://127.0.0.1:18501/may"},
	{Name: "forms", What: "jsonschema: a server that validates 120 people by a schema", Command: `exec $D/bin/forms 127.0.0.1:18502`, URL: "http://127.0.0.1:18502/validate"},
	{Name: "comments", What: "bluemonday: a server that cleans HTML of 100 comments", Command: `exec $D/bin/comments 127.0.0.1:18503`, URL: "http://127.0.0.1:18503/clean"},
	{Name: "scripts", What: "tengo: a script that counts and sorts, compiled and run 40 times", Command: `exec $D/bin/scripts`},
	{Name: "graphs", What: "gographviz: a graph read, extended and written 20 times", Command: `exec $D/bin/graphs`},
	{Name: "receipts", What: "mustache: a server that fills a template with 60 purchases", Command: `exec $D/bin/receipts 127.0.0.1:18504`,
		URL: "http://127.0.0.1:18504/receipt"},
	{Name: "settings", What: "hujson: a server that reads, patches and formats JSON with comments", Command: `exec $D/bin/settings 127.0.0.1:18505`,
		URL: "http://127.0.0.1:18505/format"},
	{Name: "sheets", What: "excelize: a workbook of 9,000 rows written and read", Command: `exec $D/bin/sheets`},
	{Name: "zones", What: "dns: a zone of 12,000 records read, 60,000 answers packed", Command: `exec $D/bin/zones`},
	{Name: "labels", What: "barcode: a server that draws QR codes", Command: `exec $D/bin/labels 127.0.0.1:18506`,
		URL: "http://127.0.0.1:18506/label"},
	{Name: "feeds", What: "gofeed: a server that reads an RSS feed", Command: `exec $D/bin/feeds 127.0.0.1:18507`,
		URL: "http://127.0.0.1:18507/feed"},
	{Name: "payslips", What: "gofpdf: 12 PDF files of 20 payslips each", Command: `exec $D/bin/payslips`},
	{Name: "policies", What: "go-jsonnet: the rules of four teams evaluated", Command: `exec $D/bin/policies`},
	{Name: "articles", What: "html-to-markdown: a server that turns a page into Markdown", Command: `exec $D/bin/articles 127.0.0.1:18508`,
		URL: "http://127.0.0.1:18508/article"},
	{Name: "revisions", What: "go-diff: 400 versions of a text compared, and patched one into the next", Command: `exec $D/bin/revisions`},
	{Name: "catalogue", What: "graphql-go: a server that answers a query, one request after another",
		Command: `exec $D/bin/catalogue 127.0.0.1:18509`, URL: "http://127.0.0.1:18509/books", Rate: "0", Objective: Throughput},
	{Name: "bookings", What: "buntdb: bookings written and read for 400 ms", Command: `exec $D/bin/bookings`,
		Objective: "max:bookings"},
	{Name: "roads", What: "dominikbraun/graph: shortest ways and spanning trees in eight networks of roads", Command: `exec $D/bin/roads`},
	{Name: "interfaces", What: "emicklei/proto: 120 files of definitions read, the last 20 kept", Command: `exec $D/bin/interfaces`},
	{Name: "discounts", What: "gopher-lua: a server that runs a script for each request", Command: `exec $D/bin/discounts 127.0.0.1:18510`,
		URL: "http://127.0.0.1:18510/discounts"},
	{Name: "charts", What: "go-chart: a server that draws a chart as SVG", Command: `exec $D/bin/charts 127.0.0.1:18511`,
		URL: "http://127.0.0.1:18511/chart", Rate: "40"},
	{Name: "tariffs", What: "expr: 480 expressions compiled, each evaluated for 400 orders", Command: `exec $D/bin/tariffs`},
	{Name: "builds", What: "Starlark: 144 build files evaluated, the last six kept", Command: `exec $D/bin/builds`},
	{Name: "members", What: "msgpack: the members of 40 clubs written, and read 16 times", Command: `exec $D/bin/members`},
	{Name: "listings", What: "yaml: a server that reads a list of 25 houses", Command: `exec $D/bin/listings 127.0.0.1:18512`,
		URL: "http://127.0.0.1:18512/houses"},
	{Name: "manuals", What: "goldmark: a server that turns a page of a manual into HTML", Command: `exec $D/bin/manuals 127.0.0.1:18513`,
		URL: "http://127.0.0.1:18513/manual"},
}

// corpusConfig returns how to tune a program of the corpus.
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
		given := map[string]string{"url": p.URL, "rate": cmp.Or(p.Rate, "200"), "for": "400ms", "warmup": "100ms"}
		params, err := w.Resolve(given)
		if err != nil {
			t.Fatal(err)
		}
		c.Base.Workload, c.Base.Params, c.Objective = "serve", params, CPU
	}
	return c
}

// corpusRunner runs programs of the corpus, after one run that fills caches.
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
