package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
)

// TestKinds renders every kind of run in every form.
func TestKinds(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			run, analysis, err := build(kind)
			if err != nil {
				t.Fatal(err)
			}
			var words, summary, doc, shown bytes.Buffer
			for _, err := range []error{
				text.Report(&words, run.Meta, analysis, text.Style{Width: 100}),
				text.Summary(&summary, run.Meta, analysis, text.Style{Width: 100}),
				text.JSON(&doc, run.Meta, analysis),
				page.Write(&shown, run, analysis),
			} {
				if err != nil {
					t.Error(err)
				}
			}
			if !json.Valid(doc.Bytes()) {
				t.Error("JSON is not valid")
			}
			if n := strings.Count(summary.String(), "\n"); n > 55 {
				t.Errorf("the summary has %d lines: more than a screen", n)
			}
			for form, out := range map[string]string{"text": words.String(), "summary": summary.String()} {
				if strings.ContainsAny(out, "\x1b\u202e") {
					t.Errorf("%s: control characters of the user reach the terminal", form)
				}
			}
			if strings.Contains(shown.String(), "<script") || strings.Contains(shown.String(), "<img") {
				t.Error("HTML: an element from the user's text")
			}
		})
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"a", "b"}} {
		if err := run("study", args); err == nil {
			t.Errorf("run(%q) succeeded", args)
		}
	}
	if err := run("nothing", []string{"x"}); err == nil || !strings.Contains(err.Error(), "hostile") {
		t.Errorf("unknown kind: %v", err)
	}
}
