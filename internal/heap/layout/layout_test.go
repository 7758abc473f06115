package layout

import (
	"debug/elf"
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write facts/ from programs built with each version")

// program uses what the linker would otherwise drop from its debug information.
const program = `package main

import "runtime"

func main() {
	m := map[string]int{"a": 1}
	c := make(chan int, 1)
	runtime.SetFinalizer(&m, func(any) {})
	select { case c <- len(m): default: }
	println(len(m))
}
`

// toolchains names a release of every minor version that has facts.
var toolchains = []string{"go1.25.14", "go1.26.8", "go1.27.4"}

// TestFactsAreThoseOfTheToolchain builds a program with every version available here and compares
// its debug information with the file.
func TestFactsAreThoseOfTheToolchain(t *testing.T) {
	for _, toolchain := range toolchains {
		t.Run(toolchain, func(t *testing.T) {
			text := ""
			lang := strings.Join(strings.Split(toolchain, ".")[:2], ".")
			for _, arch := range []string{"amd64", "arm64"} {
				got := built(t, toolchain, arch)
				text += got.format(arch)
				if *update {
					continue
				}
				want, err := Of(toolchain, arch)
				if err != nil {
					t.Fatal(err)
				}
				if !maps.Equal(got, want) {
					t.Errorf("%s on %s: the program's layout is not that of facts/%s.txt: go test -run %s -update\n%s",
						toolchain, arch, lang, t.Name(), got.format(arch))
				}
			}
			if *update {
				if err := os.WriteFile("facts/"+lang+".txt", []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// built returns the facts of a program built by one toolchain.
func built(t *testing.T, toolchain, arch string) Facts {
	t.Helper()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", binary, source)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "toolchain") {
			t.Skipf("%s cannot be had here: %s", toolchain, out)
		}
		t.Fatalf("build: %v\n%s", err, out)
	}
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	facts, err := fromDWARF(d)
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func TestEveryPathHasAFact(t *testing.T) {
	for _, lang := range Versions() {
		for _, arch := range []string{"amd64", "arm64"} {
			f, err := Of(lang, arch)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(f.WaitReasons()); got != len(reasons) {
				t.Errorf("%s on %s: %d wait reasons, want %d", lang, arch, got, len(reasons))
			}
			_, is := f["runtime.specialCleanup.fn"] // until Go 1.25
			if _, was := f["runtime.specialCleanup.cleanup"]; is == was {
				t.Errorf("%s on %s: want one of the two forms of a cleanup", lang, arch)
			}
			for _, path := range paths {
				if _, ok := f[path]; !ok && !strings.HasPrefix(path, "runtime.cleanup") && !strings.HasPrefix(path, "runtime.specialCleanup") {
					t.Errorf("%s on %s: no %s", lang, arch, path)
				}
			}
		}
	}
}

func TestUnknownVersions(t *testing.T) {
	for _, tc := range []struct{ version, arch string }{
		{"go1.20.1", "amd64"}, {"go1.99", "amd64"}, {"devel", "amd64"}, {"", "amd64"}, {"go1.26.8", "mips"},
	} {
		if f, err := Of(tc.version, tc.arch); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s on %s: %d facts, %v; want ErrUnknown", tc.version, tc.arch, len(f), err)
		}
	}
	for _, version := range []string{"go1.26", "go1.27.4", "go1.26.8 X:nogreenteagc"} {
		if _, err := Of(version, "amd64"); err != nil {
			t.Error(err)
		}
	}
}
