package image

import "strings"

// A Wait is what a goroutine waits for.
type Wait struct {
	Reason string // as a traceback names it; "" for the runtime's own, and for a goroutine that does not wait
	// Since is when a collection first saw it wait, by the target's monotonic clock
	// in nanoseconds; 0 if none did.
	Since uint64
	On    []uint64 // the channels, mutexes and the like that can wake it, if they are known
	// Records are the runtime's own that lead to On: the goroutine's g and its sudogs.
	Records []uint64

	sudog uint64 // the first
}

// Never tells whether nothing can wake it, by the reason alone.
func (w *Wait) Never() bool {
	return strings.HasSuffix(w.Reason, "(nil chan)") || w.Reason == "select (no cases)"
}

// statusWaiting is the status of a goroutine that waits.
const statusWaiting = 4

// wait reads what a runtime.g says of its wait.
func (r *reader) wait(status uint32, addr uint64, g []byte) Wait {
	if status != statusWaiting {
		return Wait{}
	}
	word := func(name string) uint64 { return le.Uint64(g[r.f["runtime.g."+name]:]) }
	return Wait{
		Reason: r.reasons[g[r.f["runtime.g.waitreason"]]], Since: word("waitsince"), Records: []uint64{addr},
		sudog: word("waiting"),
	}
}

// waitsOn follows the lists of what the goroutines wait for, in the copy.
func (im *Image) waitsOn() {
	f := im.Facts
	size, channel, object := f["runtime.sudog#"], f["runtime.sudog.c"], f["runtime.sudog.elem"]
	if size >= channel+16 { // since Go 1.26 a pointer that may be hidden comes with its value behind it
		channel, object = channel+8, object+8
	}
	left := im.Slots // a record is an object: more of them are a list that does not end
	for i := range im.Goroutines {
		w := &im.Goroutines[i].Wait
		at := channel
		switch {
		case strings.HasPrefix(w.Reason, "sync."):
			at = object
		case !strings.HasPrefix(w.Reason, "chan ") && w.Reason != "select":
			continue
		}
		for sudog := w.sudog; sudog != 0 && len(w.Records) < 1<<16 && left > 0; left-- {
			b, ok := im.copied(sudog, size)
			if !ok {
				break
			}
			w.Records = append(w.Records, sudog)
			if on := le.Uint64(b[at:]); on != 0 {
				w.On = append(w.On, on)
			}
			sudog = le.Uint64(b[f["runtime.sudog.waitlink"]:])
		}
	}
}
