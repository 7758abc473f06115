package claim

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// readWhole reads a document and checks that its claims are complete.
func readWhole(id, text string) (*Document, error) {
	d, err := readDocument(id, text)
	if err != nil {
		return nil, err
	}
	for i := range d.Claims {
		if err := d.Claims[i].check(id); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Claims[i].ID, err)
		}
	}
	return d, nil
}

// check reports what a claim of the document lacks.
func (c *Claim) check(document string) error {
	name, ok := strings.CutPrefix(c.ID, document+"/")
	switch {
	case !ok || name == "":
		return fmt.Errorf("the ID must begin with %s/", document)
	case c.Section == "" || c.Quote == "":
		return fmt.Errorf("section and quote must be given")
	case c.Untestable != "" && (c.Test != nil || c.Experiment != Experiment{}):
		return fmt.Errorf("an untestable claim has neither test nor experiment")
	case c.Untestable != "":
		return nil
	case c.Test == nil || c.Predicts == "" || c.Refutes == "" || c.Why == "":
		return fmt.Errorf("test, prediction, what would refute it, and why must be given")
	}
	for _, size := range []Size{Quick, Full} {
		if _, err := c.Experiment.Spec(size, 1); err != nil {
			return err
		}
	}
	return nil
}

// TestDocumentsAreWhole holds that the embedded claims are complete.
func TestDocumentsAreWhole(t *testing.T) {
	for _, d := range Documents() {
		for i := range d.Claims {
			if err := d.Claims[i].check(d.ID); err != nil {
				t.Errorf("%s: %v", d.Claims[i].ID, err)
			}
		}
	}
}

func TestReadDocument(t *testing.T) {
	const a = "9/a\nsection:   One\nquote:     it is: so\npredicts:  less\nrefutes:   more\nwhy:       because of this,\n" +
		"           and of that\n"
	const shared = "both\nrun:       values --return value,pointer\nquick:     --reps 5\nfull:      --reps 6\n"
	const test = "test:      /op/cpu:ns return=pointer over return=value says 0.5\n"
	text := "Nine\n\n# A comment.\n" + shared + "\n" + a + "data:      both\n" + test + "cpus:      2\n\n" +
		"9/b\nsection:   Two\nquote:     x\nuntestable: no such machine\n"
	d, err := readWhole("9", text)
	if err != nil {
		t.Fatal(err)
	}
	want := Claim{ID: "9/a", Section: "One", Quote: "it is: so", Predicts: "less", Refutes: "more",
		Why: "because of this, and of that", CPUs: 2,
		Experiment: Experiment{"values --return value,pointer", "--reps 5", "--reps 6"},
		Test:       Effect{Side{"/op/cpu:ns", "return=pointer"}, Side{"/op/cpu:ns", "return=value"}, 0.5}}
	if d.Title != "Nine" || len(d.Claims) != 2 || d.Claims[0] != want || d.Claims[1].Untestable != "no such machine" {
		t.Errorf("%+v", d)
	}
	for name, tc := range map[string]struct{ text, says string }{
		"twice":             {text + "\n9/b\nquote: x", "9/b occurs twice"},
		"another document":  {"T\n\n8/a\nquote: x", "the ID must begin with 9/"},
		"no field":          {"T\n9/a\ncolour: red", "line 3: \"colour: red\": want a field"},
		"no name":           {"T\n9/a\nred", "want a field"},
		"out of place":      {"T\n9/a\n   red", "want a field"},
		"no test":           {"T\n" + a, "test, prediction"},
		"no such data":      {"T\n" + a + "data: other\n" + test, "want one experiment"},
		"two experiments":   {"T\n" + shared + "\n" + a + "data: both\nrun: alloc\n" + test, "want one experiment"},
		"no flags":          {"T\n" + a + "run: alloc --size\n" + test, "want --FLAG VALUE"},
		"CPUs in words":     {"T\n" + a + "cpus: two\n", "want a number"},
		"a test of nothing": {"T\n" + a + "run: alloc\ntest: gc=off says 2\n", "want a metric"},
	} {
		if _, err := readWhole("9", tc.text); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
}

func TestReadTest(t *testing.T) {
	a, b := Side{"/a:ns", "gc=off pool=on"}, Side{"/b:ops", ""}
	for text, want := range map[string]Test{
		"/a:ns gc=off pool=on over gc=100 says 2.14": Effect{a, Side{"/a:ns", "gc=100"}, 2.14},
		"/a:ns gc=off pool=on over /b:ops says 1e-3": Effect{a, b, 1e-3},
		"/b:ops to 5e6": Range{Of: b, Max: 5e6},
		"/b:ops from 1": Range{Of: b, Min: 1, Max: math.Inf(1)},
		"/a:ns gc=off pool=on over /b:ops from 1 to 2":   Range{a, b, 1, 2},
		"/b:ops of /a:ns gc=off pool=on from 0 to 0.02":  Share{b, a, 0, 0.02},
		"/b:ops to 1 and /b:ops over /a:ns gc=1 says 3 ": All{Range{Of: b, Max: 1}, Effect{b, Side{"/a:ns", "gc=1"}, 3}},
	} {
		if got, err := readTest(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, %v, want %#v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "gc=off", "/a:ns says much", "/a:ns from 1 from 2", "/a:ns to 1 2", "/a:ns over",
		"/a:ns of gc=off to 1", "/a:ns to 1 and "} {
		if got, err := readTest(text); err == nil {
			t.Errorf("%q: %#v is accepted", text, got)
		}
	}
}

func FuzzReadDocument(f *testing.F) {
	f.Add("T\n9/a\nquote: x\n  y\n")
	f.Add("T\n9/a\n x")
	f.Add("\n\n:")
	f.Add("T\n\n9/a\nsection: x\nquote: x\nuntestable: x\n")
	f.Add("T\n\n9/a\nsection: x\nquote: x\npredicts: x\nrefutes: x\nwhy: x\nrun: alloc\nquick: --reps 4\nfull: --reps 4\n" +
		"test: /a:b over x=y says 2 and /a:b from 1 to inf and /a:b of /c:d\n")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := readWhole("9", text)
		if err != nil {
			return
		}
		for _, c := range d.Claims {
			if !strings.Contains(text, c.ID) || c.Section == "" || c.Untestable == "" && c.Test == nil {
				t.Errorf("%+v was accepted", c)
			}
		}
	})
}
