package before

import "os"

// The loop goes on where the first file does not do, with that file open.
func firstNonEmpty(paths []string) int64 {
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			continue
		}
		defer f.Close() // want `defer`
		info, err := f.Stat()
		if err != nil || info.Size() == 0 {
			continue
		}
		return info.Size()
	}
	return 0
}
