package whennot

import (
	"runtime"
	"sync"
)

type engine struct{ n int }

var (
	once   sync.Once
	single *engine
)

func get() *engine {
	once.Do(func() {
		single = &engine{}
		runtime.SetFinalizer(single, func(*engine) {})
	})
	return single
}

func (e *engine) Close() { runtime.SetFinalizer(e, nil) }

func init() {
	runtime.SetFinalizer(get(), func(*engine) {})
}
