package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/study/claim"
)

var updateClaims = flag.Bool("update-claims", false, "write docs/results/claims.md")

// TestClaimsPage holds that the page of claims matches the published runs.
func TestClaimsPage(t *testing.T) {
	claims, err := claim.Select(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	outcomes, err := claim.Read(nil, claims)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := claim.PublishedRuns()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := text.LedgerMarkdown(&want, claim.NewLedger(outcomes, runs)); err != nil {
		t.Fatal(err)
	}
	const page = "../../docs/results/claims.md"
	if *updateClaims {
		if err := os.WriteFile(page, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the published runs say (%v): go test ./cmd/isobar -run TestClaimsPage -update-claims", page, err)
	}
}

// TestGuidesNameClaims holds that every claim in the guides and pictures exists.
func TestGuidesNameClaims(t *testing.T) {
	name := regexp.MustCompile(`\b\d{3}/[a-z0-9-]+[a-z0-9]`)
	found := 0
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*.svg", "../../README.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range name.FindAllString(string(data), -1) {
				found++
				if _, err := claim.Select(nil, []string{id}); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("%d claims in the guides: the pattern misses them", found)
	}
}
