package advice

import (
	"encoding/json"
	"io"
	"net/url"
	"strings"

	"github.com/isobar-go/isobar/advise/check"
)

// The parts of SARIF 2.1.0 that code-scanning tools read.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
		Full  sarifText `json:"fullDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		Extra     *sarifExtra     `json:"properties,omitempty"`
	}
	sarifExtra struct {
		Caveat check.Caveat `json:"caveat"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
	}
)

// SARIF writes the findings in the Static Analysis Results Interchange Format.
func SARIF(w io.Writer, version string, checks []*check.Check, findings []Finding) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "isobar advise", Version: version, Rules: []sarifRule{}}},
		Results: []sarifResult{}}
	for _, c := range checks {
		short, _, _ := strings.Cut(c.Doc, "\n")
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{c.Name, sarifText{short}, sarifText{c.Analyzer.Doc}})
	}
	for _, f := range findings {
		level := map[string]string{"trap": "error", "advice": "warning"}[f.Severity]
		result := sarifResult{RuleID: f.Check, Level: level, Message: sarifText{f.Text()}, Locations: []sarifLocation{{
			sarifPhysical{sarifArtifact{(&url.URL{Path: f.File}).EscapedPath()}, sarifRegion{f.Line, f.Column, f.EndLine}},
		}}}
		if f.Caveat != "" {
			result.Extra = &sarifExtra{f.Caveat}
		}
		run.Results = append(run.Results, result)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
