package heap

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/isobar-go/isobar/internal/heap/graph"
	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/show/text"
)

// Goroutines are goroutines of one go statement that are in the same function.
type Goroutines struct {
	Start    string        `json:"start"`
	Created  string        `json:"created_in,omitempty"`
	In       string        `json:"in"`
	Wait     string        `json:"wait,omitempty"` // as in a traceback
	Forever  bool          `json:"forever,omitempty"`
	Count    int           `json:"count"`
	Stacks   uint64        `json:"stack_bytes"`
	Retained uint64        `json:"retained_bytes"`            // held by the stack of one of them alone
	Longest  time.Duration `json:"longest_wait_ns,omitempty"` // a lower bound; 0 if no collection saw them wait
}

func goroutines(im *image.Image, res *graph.Result) []Goroutines {
	at := make(map[Goroutines]int) // by the fields of k
	var all []Goroutines
	for n := range im.Goroutines {
		g := &im.Goroutines[n]
		k := Goroutines{
			Start: g.Start, Created: g.Created, In: standsIn(g.Frames), Wait: g.Wait.Reason,
			Forever: res.Goroutines[n].Forever,
		}
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k] = i
			all = append(all, k)
		}
		sum := &all[i]
		sum.Count++
		sum.Stacks += g.StackBytes
		sum.Retained += res.Goroutines[n].Retained
		if since := g.Wait.Since; since > 0 && im.Now > since {
			sum.Longest = max(sum.Longest, time.Duration(im.Now-since))
		}
	}
	slices.SortFunc(all, func(a, b Goroutines) int {
		return cmp.Or(cmp.Compare(b.Retained, a.Retained), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Start, b.Start),
			cmp.Compare(a.In, b.In), cmp.Compare(a.Wait, b.Wait))
	})
	return all
}

// standsIn returns the innermost function outside of package runtime, sync and internal packages. Assembly that
// compiled code calls, such as gcWriteBarrier, has no package.
func standsIn(frames []string) string {
	for _, f := range frames {
		if strings.Contains(f, ".") && !strings.HasPrefix(f, "runtime.") && !strings.HasPrefix(f, "sync.") &&
			!strings.HasPrefix(f, "internal/") {
			return f
		}
	}
	if len(frames) == 0 {
		return "unknown"
	}
	return frames[0]
}

// forever says how much goroutines hold that can never be woken; "" if there are none.
func (r *Report) forever() string {
	n := 0
	for i := range r.Goroutines {
		if g := &r.Goroutines[i]; g.Forever {
			n += g.Count
		}
	}
	if n == 0 {
		return ""
	}
	return text.Plural(n, "goroutine") + " can never be woken, and with them " + size(r.Forever) + " never freed"
}

// waits says what the goroutines wait for, and for how long.
func (g *Goroutines) waits() string {
	s := text.Clean(g.Wait)
	if g.Longest > 0 && s != "" {
		s += ", for " + text.Duration(float64(g.Longest)) + " or longer"
	}
	if g.Forever {
		s += ": for ever"
	}
	return s
}
