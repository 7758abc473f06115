package whennot

import (
	"os"
	"sync"
)

func few(list [4]*sync.Mutex) {
	for i := 0; i < 4; i++ {
		list[i].Lock()
		defer list[i].Unlock()
	}
	for _, l := range list {
		defer l.Unlock()
	}
}

func first(paths []string) (string, error) {
	for _, p := range paths {
		if f, err := os.Open(p); err == nil {
			defer f.Close()
			return f.Name(), nil
		}
	}
	return "", os.ErrNotExist
}

func literals(paths []string) {
	for _, p := range paths {
		func() {
			f, err := os.Open(p)
			if err == nil {
				defer f.Close()
			}
		}()
		go func() {
			defer println(p)
		}()
	}
}
