package heap

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/heap/image"
)

// TestHashTries: the entries of a sync.Map and the table of unique's handles have names and types, as have
// lists that begin inside of a variable.
func TestHashTries(t *testing.T) {
	const body, few, handles = 60 * 256 << 10, 1 << 18, 1 << 17
	for _, tc := range []struct {
		plant, path, typ, mostly string
		stripped                 string // what the path ends with in a stripped program; "" if its types do not say
		bytes                    uint64 // that the holder retains at least
		entries                  uint64 // of 48 bytes, or 32
	}{
		{"sync.Map", "main.sessions", "sync.Map of string to *main.record", "[].body []uint8", "", body, 60},
		{"sync.Map of few bytes", "main.rooms.by", "sync.Map of int to int64", "", ".by", few * (48 + 8), few},
		{"sync.Map of many types", "main.mixed", "sync.Map of any to any", "[].payload []uint8", "", 2 * body, 120},
		{"unique", "unique.uniqueMaps[].canonMap", "table of unique.Handle[string]", "", ".canonMap", handles * 32, handles},
		{"list", "main.queue.root", "list.Element", ".Value.body []uint8", "", body, 0},
		{"sentinel", "main.doors", "main.door", ".body []uint8", "", body, 0},
	} {
		for _, toolchain := range toolchains {
			for _, flags := range []string{"", "-ldflags=-s -w"} {
				if flags != "" && tc.stripped == "" {
					continue
				}
				t.Run(tc.plant+" "+toolchain+flags, func(t *testing.T) {
					pid, live, _ := started(t, build(t, toolchain, flags), tc.plant)
					r, err := Open(t.Context(), fmt.Sprint(pid), Config{Config: image.Config{MaxPause: time.Minute}})
					if err != nil {
						t.Fatal(err)
					}
					h := r.Holders(0.01)[0]
					named := h.Path == tc.path || flags != "" && strings.HasSuffix(h.Path, tc.stripped)
					if !named || h.Type != tc.typ || h.Mostly != tc.mostly || h.Retained < tc.bytes || h.Retained > r.Live {
						t.Errorf("of %d bytes the first holder is %+v", live, h)
					}
					if off := math.Abs(float64(r.Live)/float64(live) - 1); off > 0.01 {
						t.Errorf("live %d bytes, the runtime says %d", r.Live, live)
					}
					// The boxes of cleanups' arguments, which only the runtime has, are 16 bytes each.
					if unknown := uint64(32 << 10); r.Untyped > unknown && (tc.plant != "unique" || r.Untyped > unknown+handles*16) {
						t.Errorf("%d bytes are of unknown type", r.Untyped)
					}
					i := slices.IndexFunc(r.Types, func(t Type) bool { return t.Name == tc.typ+" (entry)" })
					if tc.entries > 0 && (i < 0 || r.Types[i].Objects != tc.entries) {
						t.Errorf("%d entries were planted, the types are %+v", tc.entries, r.Types[:8])
					}
				})
			}
		}
	}
}
