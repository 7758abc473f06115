package after

import "os"

func process(*os.File) error { return nil }

func processAll(paths []string) error {
	for _, p := range paths {
		if err := processOne(p); err != nil {
			return err
		}
	}
	return nil
}

func processOne(p string) error {
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close() // single defer, scope = this call
	return process(f)
}

func explicit(paths []string) error {
	for _, p := range paths {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		err = process(f)
		f.Close() // explicit, no defer
		if err != nil {
			return err
		}
	}
	return nil
}
