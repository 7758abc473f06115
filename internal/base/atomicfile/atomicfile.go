// Package atomicfile writes files atomically: whoever opens the name finds
// either all of the old content or all of the new.
package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Prefix begins the names of files that are being written. An old one was
// abandoned by a process that was killed.
const Prefix = ".isobar-"

// Write replaces the file name with the output of write.
func Write(name string, perm os.FileMode, write func(io.Writer) error) error {
	staged, err := Stage(name, perm, write)
	if err != nil {
		return err
	}
	if err := os.Rename(staged, name); err != nil {
		return errors.Join(err, os.Remove(staged))
	}
	return nil
}

// Bytes replaces the file name with data.
func Bytes(name string, perm os.FileMode, data []byte) error {
	return Write(name, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Stage writes a file beside name, on disk when it returns, and returns its
// name. The caller only has to rename it to name. After an error no file is
// left.
func Stage(name string, perm os.FileMode, write func(io.Writer) error) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(name), Prefix+"*")
	if err != nil {
		return "", err
	}
	if err := errors.Join(write(f), f.Chmod(perm), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
