package claim

import "testing"

// TestLedgerIsWhole holds how many claims each document has, and that
// experiments test nearly all of them.
func TestLedgerIsWhole(t *testing.T) {
	least := map[string]int{"000": 20, "001": 12, "002": 8, "003": 18, "004": 12}
	total, untestable := 0, 0
	for _, d := range Documents() {
		if len(d.Claims) < least[d.ID] {
			t.Errorf("document %s: %d claims, want %d or more", d.ID, len(d.Claims), least[d.ID])
		}
		delete(least, d.ID)
		total += len(d.Claims)
		for i := range d.Claims {
			if d.Claims[i].Untestable != "" {
				untestable++
			}
		}
	}
	if len(least) > 0 {
		t.Errorf("documents without claims: %v", least)
	}
	if total < 200 || untestable*10 > total {
		t.Errorf("%d claims, %d of them untestable; want 200 or more, and a tenth at most", total, untestable)
	}
}
