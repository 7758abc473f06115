package advice

import (
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestInstead: the standard library has what instead.txt names, on both sides of the colon.
func TestInstead(t *testing.T) {
	paths := map[string]bool{"bytes": true, "errors": true, "hash": true, "hash/maphash": true, "math/rand/v2": true,
		"net/netip": true, "sync": true, "encoding/binary": true}
	for name := range instead {
		if name[0] != '@' {
			paths[packageOf(name)] = true
		}
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedExportFile},
		slices.Sorted(maps.Keys(paths))...)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{} // by import path, and by package name
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			t.Fatal(p.PkgPath, p.Errors)
		}
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			o := scope.Lookup(name)
			members := []string{name}
			if named, ok := o.Type().(*types.Named); ok {
				for set := range types.NewMethodSet(types.NewPointer(named)).Methods() {
					members = append(members, name+"."+set.Obj().Name())
				}
				if fields, ok := named.Underlying().(*types.Struct); ok {
					for f := range fields.Fields() {
						members = append(members, name+"."+f.Name())
					}
				}
			}
			for _, m := range members {
				has[p.PkgPath+"."+m], has[p.Name+"."+m] = true, true
			}
		}
	}
	named := regexp.MustCompile(`\b[a-z]\w*(\.[A-Z]\w*)+`)
	for name, offers := range instead {
		if plain := strings.NewReplacer("(*", "", ")", "").Replace(name); !has[plain] && name[0] != '@' {
			t.Errorf("there is no %s", name)
		}
		for _, o := range offers {
			for _, ask := range o.asks {
				if asks[ask] == nil {
					t.Errorf("%s: nothing tells of %q", name, ask)
				}
			}
			for _, says := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(o.text, -1) {
				if !slices.Contains(o.asks, says[1]) {
					t.Errorf("%s: %s is not asked for", name, says[0])
				}
			}
			for _, other := range named.FindAllString(o.text, -1) {
				if !has[other] {
					t.Errorf("%s: there is no %s", name, other)
				}
			}
		}
	}
	if len(instead) < 90 {
		t.Errorf("%d functions", len(instead))
	}
}
