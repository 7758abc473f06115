package advice

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"github.com/isobar-go/isobar/advise/check"
)

type object = map[string]any

// SARIF writes the findings in the Static Analysis Results Interchange Format,
// 2.1.0: the parts that code-scanning tools read.
func SARIF(w io.Writer, version string, checks []*check.Check, findings []Finding) error {
	rules, results := []object{}, []object{}
	for _, c := range checks {
		short, _, _ := strings.Cut(c.Doc, "\n")
		rules = append(rules, object{"id": c.Name, "shortDescription": object{"text": short},
			"fullDescription": object{"text": c.Analyzer.Doc}})
	}
	for _, f := range findings {
		result := object{
			"ruleId": f.Check, "level": map[string]string{"trap": "error", "advice": "warning"}[f.Severity],
			"message": object{"text": f.Text()},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": object{"uri": (&url.URL{Path: f.File}).String()},
				"region":           object{"startLine": f.Line, "startColumn": f.Column, "endLine": f.EndLine},
			}}},
		}
		if f.Caveat != "" {
			result["properties"] = object{"caveat": f.Caveat}
		}
		results = append(results, result)
	}
	driver := object{"name": "isobar advise", "version": version, "rules": rules}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": driver}, "results": results}}})
}
