package image

import "strings"

// A Wait is what a goroutine waits for.
type Wait struct {
	Reason string // as in a traceback; "" for the runtime's goroutines, or if it does not wait
	// Since is when a collection first saw it wait, in nanoseconds of the target's
	// monotonic clock; 0 if none did.
	Since uint64
	On    []uint64 // the channels, mutexes and so on that can wake it, if known
	// Records are the runtime's objects that point to On: the goroutine's g and its sudogs.
	Records []uint64

	sudog uint64 // the first
}

// Never reports whether the reason alone shows that nothing can wake it.
func (w *Wait) Never() bool {
	return strings.HasSuffix(w.Reason, "(nil chan)") || w.Reason == "select (no cases)"
}

// statusWaiting is the status of a goroutine that waits.
const statusWaiting = 4

// wait reads the wait of a goroutine from its runtime.g.
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

// waitsOn follows the goroutines' lists of what they wait for, in the copy.
func (im *Image) waitsOn() {
	f := im.Facts
	size, channel, object := f["runtime.sudog#"], f["runtime.sudog.c"], f["runtime.sudog.elem"]
	if size >= channel+16 { // since Go 1.26 the pointer's value follows it
		channel, object = channel+8, object+8
	}
	left := im.Slots // each record is an object: more records mean an endless list
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
