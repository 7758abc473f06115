package advice

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/advise"
	"github.com/isobar-go/isobar/advise/check"
)

func TestDocsAreCurrent(t *testing.T) {
	var want bytes.Buffer
	if err := Docs(&want, advise.All()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/results/advise-checks.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/results/advise-checks.md does not say what the checks say: run isobar advise checks --markdown > docs/results/advise-checks.md")
	}
}

// A check without an exercise has no command to repeat.
func TestDocsOfACheckWithoutExercise(t *testing.T) {
	var page bytes.Buffer
	c := check.New(check.Check{
		Name: "dummy", Severity: check.Advice, Doc: "flags nothing", When: "always", WhenNot: "never",
		Measured: "1 to 0 allocations", Run: func(*check.Pass) {},
	})
	if err := Docs(&page, []*check.Check{c}); err != nil {
		t.Fatal(err)
	}
	if s := page.String(); !strings.Contains(s, "- Measured: 1 to 0") || strings.Contains(s, "Repeat") {
		t.Errorf("%s", s)
	}
}

// sarifRules are the requirements of the SARIF 2.1.0 schema on the written objects: the
// required properties, and the values of enumerations.
var sarifRules = []struct {
	path     string
	required []string
}{
	{"", []string{"$schema", "version", "runs"}},
	{"runs", []string{"tool", "results"}},
	{"runs.tool", []string{"driver"}},
	{"runs.tool.driver", []string{"name", "version", "rules"}},
	{"runs.tool.driver.rules", []string{"id", "shortDescription", "fullDescription", "help"}},
	{"runs.tool.driver.rules.shortDescription", []string{"text"}},
	{"runs.tool.driver.rules.fullDescription", []string{"text"}},
	{"runs.tool.driver.rules.help", []string{"text"}},
	{"runs.originalUriBaseIds", []string{sourceRoot}},
	{"runs.results", []string{"message", "ruleId", "level", "locations", "partialFingerprints"}},
	{"runs.results.partialFingerprints", []string{"isobarFinding/v1"}},
	{"runs.results.message", []string{"text"}},
	{"runs.results.locations", []string{"physicalLocation"}},
	{"runs.results.locations.physicalLocation", []string{"artifactLocation", "region"}},
	{"runs.results.locations.physicalLocation.artifactLocation", []string{"uri"}},
	{"runs.results.locations.physicalLocation.region", []string{"startLine", "startColumn", "endLine"}},
}

func TestSARIFIsValid(t *testing.T) {
	root := t.TempDir()
	in := func(file string) []span { return []span{{File: filepath.Join(root, file)}} }
	findings := []Finding{
		{Spans: in("a/b c.go"), Line: 3, Column: 2, EndLine: 4, Check: "sprintf", Severity: "advice", Message: "x"},
		{Spans: in("b.go"), Line: 1, Column: 1, EndLine: 1, Check: "poolretain", Severity: "trap", Message: "y"},
		{Spans: in("c:d.go"), Line: 2, Column: 1, EndLine: 2, Check: "prealloc", Severity: "advice", Message: "z"},
		{Spans: in("../e.go"), Line: 2, Column: 1, EndLine: 2, Check: "prealloc", Severity: "advice", Message: "z"},
	}
	var out bytes.Buffer
	if err := SARIF(&out, "v1", root, advise.All(), findings); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc["version"] != "2.1.0" {
		t.Errorf("version %v", doc["version"])
	}
	for _, rule := range sarifRules {
		objects := at(doc, rule.path)
		if len(objects) == 0 {
			t.Errorf("%s: nothing there", rule.path)
		}
		for _, o := range objects {
			for _, name := range rule.required {
				if o[name] == nil || o[name] == "" {
					t.Errorf("%s has no %s: %v", rule.path, name, o)
				}
			}
		}
	}
	known := map[any]bool{}
	for _, r := range at(doc, "runs.tool.driver.rules") {
		known[r["id"]] = true
	}
	results := at(doc, "runs.results")
	if len(results) != len(findings) {
		t.Fatalf("%d results, want %d", len(results), len(findings))
	}
	for i, level := range []string{"warning", "error", "warning", "warning"} {
		if results[i]["level"] != level || !known[results[i]["ruleId"]] {
			t.Errorf("result %d: %v, want level %s and a rule that is listed", i, results[i], level)
		}
	}
	for i, l := range at(doc, "runs.results.locations.physicalLocation.artifactLocation") {
		uri := l["uri"].(string)
		if strings.ContainsAny(uri, ` \`) || strings.HasPrefix(uri, "c:") {
			t.Errorf("%q is no URI", uri)
		}
		if outside := i == 3; outside != strings.HasPrefix(uri, "file:///") || outside == (l["uriBaseId"] == sourceRoot) {
			t.Errorf("%v, want a file below the root, but for the last", l)
		}
	}
}

// TestSARIFKnowsFindingsAgain: files are named from the root of the repository, and what moves keeps its fingerprint,
// the second of two equal findings, too.
func TestSARIFKnowsFindingsAgain(t *testing.T) {
	root := tree(t, map[string]string{".git/HEAD": "", "sub/m.go": "a(b)\na(b)\n\n\n  a(b)\na( b )\n"})
	prints := func(starts ...int) (all []any) {
		var findings []Finding
		for _, start := range starts {
			findings = append(findings, Finding{Check: "sprintf", Severity: "advice",
				Spans: []span{{File: filepath.Join(root, "sub", "m.go"), Start: start, End: start + 4}}})
		}
		var out bytes.Buffer
		if err := SARIF(&out, "v1", filepath.Join(root, "sub"), advise.All(), findings); err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		for _, l := range at(doc, "runs.results.locations.physicalLocation.artifactLocation") {
			if l["uri"] != "sub/m.go" {
				t.Errorf("%v, want sub/m.go", l)
			}
		}
		for _, p := range at(doc, "runs.results.partialFingerprints") {
			all = append(all, p["isobarFinding/v1"])
		}
		return all
	}
	was, is := prints(0, 5), prints(0, 14)
	if !slices.Equal(was, is) || was[0] == was[1] || slices.Equal(was, prints(1, 5)) {
		t.Errorf("fingerprints %v, then %v", was, is)
	}
}

// at returns the objects at a path, through arrays.
func at(v any, path string) []map[string]any {
	if list, ok := v.([]any); ok {
		var all []map[string]any
		for _, e := range list {
			all = append(all, at(e, path)...)
		}
		return all
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if path == "" {
		return []map[string]any{o}
	}
	name, rest, _ := strings.Cut(path, ".")
	return at(o[name], rest)
}
