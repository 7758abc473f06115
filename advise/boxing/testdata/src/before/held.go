package before

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
)

type point struct{ x, y int }

type event struct {
	name  string
	value any
}

func each(points []point, names []string, ch chan any, l *list.List, ctx context.Context) (out []any, m map[string]any) {
	var latest atomic.Value
	m = map[string]any{}
	for i, p := range points {
		m[names[i]] = p                               // want `p is boxed to be held as any`
		ch <- p.x                                     // want `p.x is boxed to be held as any`
		out = append(out, event{names[i], nil}.value) // nothing is boxed
		_ = event{name: names[i], value: p}           // want `p is boxed to be held as any`
		_ = map[string]any{"point": p, "name": "p"}   // want `p is boxed to be held as any`
		_ = []any{&p, names[i]}                       // want `names\[i\] is boxed to be held as any`
		l.PushBack(p)                                 // want `p is boxed to be passed as any to PushBack`
		latest.Store(p)                               // want `p is boxed to be passed as any to .*Store`
		ctx = context.WithValue(ctx, &latest, p)      // want `p is boxed to be passed as any to context.WithValue`
	}
	return out, m
}

func latest(points []point) any {
	return points[len(points)-1] // want `is boxed to be held as any`
}

var points = sync.Pool{New: func() any {
	return point{} // want `point{} is boxed to be held as any`
}}
