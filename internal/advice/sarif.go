package advice

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/isobar-go/isobar/advise/check"
)

type object = map[string]any

// sourceRoot is the name that other tools use for the root of the sources, too.
const sourceRoot = "%SRCROOT%"

// SARIF writes the findings in the Static Analysis Results Interchange Format,
// 2.1.0: the parts that code-scanning tools read. Files are named from the root of the
// repository around dir, if there is one. The fingerprint of a finding is the same
// wherever its lines move within the function.
func SARIF(w io.Writer, version, dir string, checks []*check.Check, findings []Finding) error {
	root, err := repository(dir)
	if err != nil {
		return fmt.Errorf("advise: sarif: %w", err)
	}
	rules, results := []object{}, []object{}
	for _, c := range checks {
		short, _, _ := strings.Cut(c.Doc, "\n")
		rules = append(rules, object{"id": c.Name, "shortDescription": object{"text": short},
			"fullDescription": object{"text": strings.TrimSpace(c.Doc)}, "help": object{"text": c.Analyzer.Doc}})
	}
	src, seen := texts{}, map[string]int{}
	for _, f := range findings {
		mark := fmt.Sprintf("%.8x", sha256.Sum256(fmt.Appendln(nil, f.Check, f.Pkg, f.Function, src.flagged(&f))))
		seen[mark]++
		result := object{
			"ruleId": f.Check, "level": map[string]string{"trap": "error", "advice": "warning"}[f.Severity],
			"message": object{"text": f.Text()},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": artifact(root, f.Spans[0].File),
				"region":           object{"startLine": f.Line, "startColumn": max(1, f.Column), "endLine": f.EndLine},
			}}},
			"partialFingerprints": object{"isobarFinding/v1": fmt.Sprint(mark, ":", seen[mark])},
		}
		if f.Caveat != "" {
			result["properties"] = object{"caveat": f.Caveat}
		}
		results = append(results, result)
	}
	driver := object{"name": "isobar advise", "version": version, "rules": rules}
	bases := object{sourceRoot: object{"description": object{"text": "the root of the repository"}}}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": driver}, "originalUriBaseIds": bases, "results": results}}})
}

// repository is the directory with .git around dir, or dir itself.
func repository(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	for at := dir; err == nil; at = filepath.Dir(at) {
		if exists(filepath.Join(at, ".git")) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return dir, err
}

// artifact says where a file is: below the root, or elsewhere on this machine.
func artifact(root, name string) object {
	rel := relative(root, name)
	if filepath.IsAbs(rel) {
		return object{"uri": (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(rel), "/")}).String()}
	}
	return object{"uri": (&url.URL{Path: rel}).String(), "uriBaseId": sourceRoot}
}
