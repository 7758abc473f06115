package main

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/study/claim"
)

var updateClaims = flag.Bool("update-claims", false, "write docs/results/claims.md")

// TestClaimsPage holds that the page of claims is what the published runs say.
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
