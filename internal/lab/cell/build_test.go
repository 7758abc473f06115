package cell

import (
	"slices"
	"testing"
)

func TestBuild(t *testing.T) {
	for name, b := range map[string]Build{
		"own":              {},
		"classic":          {Collector: "classic"},
		"goarenas":         {Collector: "goarenas"},
		"go1.27.4":         {Go: "1.27.4"},
		"goarenas-go1.27":  {Collector: "goarenas", Go: "1.27"},
		"classic-go1.26.8": {Collector: "classic", Go: "1.26.8"},
	} {
		if got := b.String(); got != name {
			t.Errorf("%+v is named %q, want %q", b, got, name)
		}
		if got := ParseBuild(name); got != b {
			t.Errorf("ParseBuild(%q) = %+v, want %+v", name, got, b)
		}
	}
}

func TestProgram(t *testing.T) {
	c := Config{Command: []string{"/built/{build}/program", "{build}"}, Go: "1.27.4", Collector: "classic"}
	want := []string{"/built/classic-go1.27.4/program", "{build}"}
	if got := c.Program(); !slices.Equal(got, want) {
		t.Errorf("program %q, want %q", got, want)
	}
	c.Command = []string{"go", "vet"}
	if got := c.Program(); !slices.Equal(got, c.Command) {
		t.Errorf("program %q, want it unchanged", got)
	}
}

func TestCheckGo(t *testing.T) {
	for version, ok := range map[string]bool{
		"1.26": true, "1.27.4": true, "1.28rc1": true,
		"": false, "go1.27": false, "1": false, "1.27.4 X": false, "1.27/../..": false, "latest": false,
	} {
		if err := CheckGo(version); (err == nil) != ok {
			t.Errorf("CheckGo(%q) = %v", version, err)
		}
	}
}
