package claim

import (
	"strings"
	"testing"
)

func TestReadWords(t *testing.T) {
	claims := []Claim{{ID: "9/a"}, {ID: "9/b"}}
	text := "9/a\nsection:   One\nquote:     it is: so\nwhy:       because of this,\n           and of that\n\n9/b\n" +
		"figure: 3 x\n"
	if err := readWords(text, claims); err != nil {
		t.Fatal(err)
	}
	want := Claim{ID: "9/a", Section: "One", Quote: "it is: so", Why: "because of this, and of that"}
	if claims[0] != want || claims[1].Figure != "3 x" {
		t.Errorf("%+v", claims)
	}
	for name, tc := range map[string]struct{ text, says string }{
		"none":         {"9/a\nquote: x", "9/b has no text"},
		"twice":        {text + "\n9/a\nquote: x", "is not a claim of this document, or occurs twice"},
		"no claim":     {"9/c\nquote: x", "is not a claim"},
		"no field":     {"9/a\ncolour: red", "want a field"},
		"no name":      {"9/a\nred", "want a field"},
		"out of place": {"9/a\n   red", "want a field"},
	} {
		if err := readWords(tc.text, []Claim{{ID: "9/a"}, {ID: "9/b"}}); err == nil ||
			!strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

func FuzzReadWords(f *testing.F) {
	f.Add("9/a\nquote: x\n  y\n")
	f.Add("9/a\n x")
	f.Add("\n\n:")
	f.Fuzz(func(t *testing.T, text string) {
		claims := []Claim{{ID: "9/a"}}
		if readWords(text, claims) == nil && !strings.Contains(text, "9/a") {
			t.Error("a claim without text was accepted")
		}
	})
}
