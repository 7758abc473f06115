package advice

import (
	"debug/elf"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// program notes whether the program of a profile was built again since: its file then
// has another build id. From the same program, it completes the profile: see enter.
func (j *joiner) program(name string, p *profile.Profile) {
	if len(p.Mapping) == 0 || p.Mapping[0].BuildID == "" {
		return
	}
	m := p.Mapping[0] // of the program itself, by the format's rule
	switch now := buildID(m.File); now {
	case "":
	case m.BuildID:
		enter(p)
	default:
		j.notes = append(j.notes, fmt.Sprintf("%s was taken of another build of %s: build id %.12s, now %.12s; lines may "+
			"have moved since", name, filepath.Base(m.File), m.BuildID, now))
	}
}

// rehome gives the files of functions the names that they have here, if the program was built elsewhere.
func (j *joiner) rehome(p *profile.Profile) {
	homes := map[string]string{} // directories here, by their names there
	for _, fn := range p.Function {
		here := j.here(fn)
		if here == "" || here == fn.Filename {
			continue
		}
		there, home := path.Dir(fn.Filename), filepath.Dir(here)
		for homes[there] = home; path.Base(there) == path.Base(home); homes[there] = home {
			there, home = path.Dir(there), filepath.Dir(home)
		}
		fn.Filename = here
	}
	for _, fn := range p.Function { // such as copies of function literals, which are named after another package
		for dir := path.Dir(fn.Filename); dir != path.Dir(dir); dir = path.Dir(dir) {
			if here := homes[dir] + fn.Filename[len(dir):]; homes[dir] != "" && exists(here) {
				fn.Filename = here
				break
			}
		}
	}
}

// here returns the name that the file of a function has here by the function's package, or "".
func (j *joiner) here(fn *profile.Function) string {
	pkg := strings.TrimSuffix(packageOf(fn.Name), "_test")
	name := filepath.Join(j.dirs[pkg], path.Base(fn.Filename))
	if j.dirs[pkg] != "" && exists(name) {
		return name
	}
	for rest, more := fn.Filename, pkg == "main"; more; _, rest, more = strings.Cut(rest, "/") {
		name, ok := j.files[path.Join(pkg, rest)]
		if ok && (!exists(fn.Filename) || realName(name) == realName(fn.Filename)) {
			return name
		}
	}
	return j.files[fn.Filename] // built with -trimpath
}

// buildID returns the GNU build id of an ELF file, or "". The Go linker derives it from
// what it links. It is the description of a note with that name.
func buildID(name string) string {
	f, err := elf.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	section := f.Section(".note.gnu.build-id")
	if section == nil {
		return ""
	}
	const header = 16 // two lengths, a type and the name
	note, err := section.Data()
	if err != nil || len(note) < header || string(note[12:header]) != "GNU\x00" {
		return ""
	}
	return hex.EncodeToString(note[header:])
}

// literal matches the names of functions without a declaration.
var literal = regexp.MustCompile(`^(func\d+|gowrap\d+|deferwrap\d+|glob\.|init|\d+)$|-fm$|-range\d+$`)

// functions compares where functions begin in a profile and in the files, and records
// which functions are inlined.
func (j *joiner) functions(p *profile.Profile) {
	for _, fn := range p.Function {
		file, ok := j.files[filepath.ToSlash(fn.Filename)]
		if !ok || fn.StartLine <= 0 {
			continue
		}
		named := j.literals[literalAt{place{file, int(fn.StartLine)}, literals(fn.Name)}]
		if end := strings.LastIndex(named, ".func"); end >= 0 &&
			!strings.HasPrefix(shortName(fn.Name)+".", shortName(named[:end])+".") {
			fn.Name = named // that of a copy begins with the function that it was inlined into
		}
		name := lastName(fn.Name)
		if literal.MatchString(name) || strings.HasPrefix(name, "Benchmark") { // the files of tests are not read
			continue
		}
		if j.starts[beginning{filepath.Dir(file), name, int(fn.StartLine)}] {
			j.still[fn.Name] = true
		} else {
			j.moved[fn.Name] = place{file, int(fn.StartLine)}
		}
	}
	for _, loc := range p.Location {
		for _, line := range loc.Line[:max(0, len(loc.Line)-1)] {
			j.inlined[line.Function.Name] = true
		}
	}
}

// compare returns an error if more than a twentieth of the functions begin elsewhere
// than the profiles say: the profiles are of another source.
func (j *joiner) compare() error {
	if len(j.moved) == 0 || len(j.moved) <= (len(j.moved)+len(j.still))/20 {
		return nil
	}
	name := slices.Sorted(maps.Keys(j.moved))[0]
	at := j.moved[name]
	return fmt.Errorf("advise: profile: it is of another build: %s began at %s:%d there, and %d of %d functions "+
		"elsewhere than here; take a profile of this source, or check out the one it was taken of",
		name, filepath.Base(at.file), at.line, len(j.moved), len(j.moved)+len(j.still))
}
