package whennot

import "os"

func found(names []string) error {
Names:
	for _, name := range names {
		if name == "" {
			continue Names
		}
		f, err := os.Open(name)
		defer f.Close()
		if err != nil {
			return err
		}
		break Names
	}
	return nil
}
