package before

import (
	"os"
	"sync"
)

func process(*os.File) error { return nil }

// The document's code.
func processAll(paths []string) error {
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close() // want `pile up until the function returns`
		if err := process(f); err != nil {
			return err
		}
	}
	return nil
}

func locked(list []*sync.Mutex) {
	for i := 0; i < len(list); i++ {
		list[i].Lock()
		defer list[i].Unlock() // want `pile up`
	}
}

func nine(list [9]*sync.Mutex) {
	for i := 0; i <= 8; i++ {
		defer list[i].Unlock() // want `pile up`
	}
}
