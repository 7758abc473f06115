// Package atomicfile writes files atomically: whoever opens the name finds either all of
// the old content or all of the new.
package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Prefix begins the names of files that are being written. An old one was left by a process
// that was killed.
const Prefix = ".isobar-"

// Write replaces the file name with the output of write. If name is a link, it replaces the
// link's target. A device or a pipe cannot be replaced, so Write writes to it. Output to
// /dev/stdout or /dev/stderr follows what this process has written there.
func Write(name string, perm os.FileMode, write func(io.Writer) error) error {
	if f := standard(name); f != nil {
		return write(f)
	}
	if special(name) {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	if err := notFolder(name); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	staged, err := Stage(name, perm, write)
	if err != nil {
		return err
	}
	if err := os.Rename(staged, name); err != nil {
		return errors.Join(err, os.Remove(staged))
	}
	return nil
}

// standard returns the stream of this process that name denotes, nil for none. Opening it
// by name would restart a redirected stream at the beginning of its file.
func standard(name string) *os.File {
	switch filepath.Clean(name) {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return os.Stdout
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		return os.Stderr
	}
	return nil
}

// special reports whether name is neither a regular file nor a directory.
func special(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

// Check returns the error that Write would return now: name is a directory, or its folder
// is missing or not writable.
func Check(name string) error {
	if err := notFolder(name); err != nil {
		return err
	}
	if standard(name) != nil || special(name) {
		return nil
	}
	staged, err := Stage(name, 0o600, func(io.Writer) error { return nil })
	if err != nil {
		return err
	}
	return os.Remove(staged)
}

func notFolder(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return &os.PathError{Op: "write", Path: name, Err: errors.New("is a directory")}
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

// Stage writes a file beside name, syncs it to disk and returns its path. The caller only
// has to rename it to name. After an error no file is left.
func Stage(name string, perm os.FileMode, write func(io.Writer) error) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(name), Prefix+"*")
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		failed.Path = name // nobody knows the staged file's name
	}
	if err != nil {
		return "", err
	}
	if err := errors.Join(write(f), f.Chmod(perm), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
