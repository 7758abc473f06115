package plan

import (
	"slices"
	"strings"
	"testing"
)

func TestLevels(t *testing.T) {
	for value, want := range map[string]string{
		"":                    "",
		"a,":                  "a ",
		`dir\file,x`:          `dir\file x`,
		"100":                 "100",
		"a,b":                 "a b",
		`a\,b,c`:              "a,b c",
		"100..500/100":        "100 200 300 400 500",
		"100..450/100":        "100 200 300 400",
		"default,50..400*2":   "default 50 100 200 400",
		"100..100_000*10,off": "100 1000 10000 100000 off",
		"1..4*1.2":            "1 2 3 4",
		"0.5..2/0.5":          "0.5 1 1.5 2",
		"1MiB..8MiB*2":        "1MiB 2MiB 4MiB 8MiB",
		"1ms..3ms/1":          "1ms 2ms 3ms",
		"../bench":            "../bench",
		"5..5/1":              "5",
	} {
		got, err := ParseLevels(value)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("ParseLevels(%q) = %q, %v; want %q", value, got, err, want)
		}
	}
	if got, err := ParseLevels("100..20000/100"); err != nil || len(got) != 200 || got[112] != "11300" {
		t.Errorf("a range of 200: %d levels, %v", len(got), err)
	}
	for _, value := range []string{"5..1/1", "1..5/0", "1..5*1", "0..5*2", "1ms..5s/1", "1..1000000/1", "1..2/1.2.3"} {
		if got, err := ParseLevels(value); err == nil {
			t.Errorf("ParseLevels(%q) = %d levels, want an error", value, len(got))
		}
	}
}

func FuzzLevels(f *testing.F) {
	for _, s := range []string{"100..500/100", "50..400*2", `a\,b`, "1MiB..8MiB*2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, err := ParseLevels(value)
		if err == nil && (len(got) == 0 || len(got) > (strings.Count(value, ",")+1)*maxLevels) {
			t.Errorf("%q: %d levels", value, len(got))
		}
		if err == nil && !strings.Contains(value, "..") && !slices.Equal(got, strings.Split(value, ",")) &&
			!strings.Contains(value, `\,`) {
			t.Errorf("%q: %q", value, got)
		}
	})
}
