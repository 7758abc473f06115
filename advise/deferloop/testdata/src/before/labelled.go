package before

import "os"

func retried(names []string) error {
	var err error
Retry:
	for _, name := range names {
		var f *os.File
		f, err = os.Open(name)
		defer f.Close() // want `deferred calls pile up`
		if err != nil {
			continue Retry
		}
		break Retry
	}
	return err
}
