package study

import (
	"slices"
	"testing"

	"github.com/isobar-go/isobar/internal/study/claim"
)

// TestRowsNameClaims: the list is long enough, each document and each exercise
// is in it, each row has a place, and every claim that a row names exists, and
// the other way round.
func TestRowsNameClaims(t *testing.T) {
	docs, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	all, err := claim.Select(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range all {
		known[c.ID] = false
	}
	total, exercises := 0, 0
	var ids []string
	for _, d := range docs {
		ids = append(ids, d.ID)
		total += len(d.Rows)
		says := map[string]bool{}
		for _, r := range d.Rows {
			if len(r.Commands)+len(r.Claims) == 0 || r.Says == "" || says[r.Kind+r.Says] {
				t.Errorf("%s: %q has no place here, or is twice", d.ID, r.Says)
			}
			says[r.Kind+r.Says] = true
			if r.Kind == "exercise" {
				exercises++
			}
			for _, id := range r.Claims {
				if _, ok := known[id]; !ok {
					t.Errorf("%s: %q: there is no claim %s", d.ID, r.Says, id)
				}
				known[id] = true
			}
		}
	}
	if !slices.Equal(ids, []string{"000", "001", "002", "003", "004"}) || total < 137 || exercises != 18 {
		t.Errorf("documents %v, %d rows, %d exercises; want five, 137 or more, 18", ids, total, exercises)
	}
	for id, named := range known {
		if !named {
			t.Errorf("no row names claim %s", id)
		}
	}
	t.Logf("%d rows, %d claims", total, len(all))
}

func TestReadRowsRefuses(t *testing.T) {
	for _, text := range []string{"a | b | c | works", "= 000 T\na | b | c", "= 000 T\na | b | c | partly"} {
		if _, err := readRows(text); err == nil {
			t.Errorf("readRows(%q): want an error", text)
		}
	}
}
