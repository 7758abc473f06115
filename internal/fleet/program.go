package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/isobar-go/isobar/internal/lab/runner"
)

// maxProgram bounds programs.
const maxProgram = 1 << 30

// PutProgram puts a file into the object store, under its digest. It does not
// send a file that is already there.
func (f *Fleet) PutProgram(ctx context.Context, file string) (Program, error) {
	in, err := os.Open(file)
	if err != nil {
		return Program{}, fmt.Errorf("fleet: put program: %w", err)
	}
	defer in.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, in)
	if err != nil {
		return Program{}, fmt.Errorf("fleet: put program: %w", err)
	}
	if n > maxProgram {
		return Program{}, fmt.Errorf("fleet: put program: %s has %d bytes, at most %d", file, n, maxProgram)
	}
	p := Program{SHA256: hex.EncodeToString(hash.Sum(nil)), Bytes: n}
	bucket, err := f.js.ObjectStore(ctx, programStore)
	if err != nil {
		return p, fmt.Errorf("fleet: put program: %w", err)
	}
	if info, err := bucket.GetInfo(ctx, p.SHA256); err == nil && info.Size == uint64(n) {
		return p, nil
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return p, fmt.Errorf("fleet: put program: %w", err)
	}
	if _, err := bucket.Put(ctx, jetstream.ObjectMeta{Name: p.SHA256}, in); err != nil {
		return p, fmt.Errorf("fleet: put program: %w", err)
	}
	return p, nil
}

// program copies the block's program into dir and returns its path, or "" for a block
// without one. It refuses a file whose digest differs from that in the block.
func (w *Worker) program(ctx context.Context, job *Job, dir string) (string, error) {
	if len(job.Programs) == 0 {
		return "", nil
	}
	p, ok := job.Programs[runtime.GOOS+"/"+runtime.GOARCH]
	if !ok {
		return "", refusal{fmt.Errorf("refused: no program for %s/%s came with it", runtime.GOOS, runtime.GOARCH)}
	}
	if sum, err := hex.DecodeString(p.SHA256); err != nil || len(sum) != sha256.Size || p.Bytes < 1 ||
		p.Bytes > maxProgram {
		return "", refusal{fmt.Errorf("malformed: a program of %d bytes with digest %q", p.Bytes, p.SHA256)}
	}
	file := filepath.Join(dir, runner.Binary("program", runtime.GOOS))
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return "", ownError{err}
	}
	sum, err := w.fleet.getObject(ctx, programStore, p.SHA256, p.Bytes, out)
	err = errors.Join(err, out.Close())
	var unwritten *fs.PathError
	switch {
	case errors.As(err, &unwritten):
		return "", ownError{err}
	case errors.Is(err, errBadObject):
		return "", refusal{fmt.Errorf("refused: program %.12s: %w", p.SHA256, err)}
	case err != nil:
		return "", fmt.Errorf("program %.12s: %w", p.SHA256, err)
	case sum != p.SHA256:
		return "", refusal{fmt.Errorf("refused: the program has the digest %.12s, not %.12s: it was tampered with", sum,
			p.SHA256)}
	}
	return file, nil
}
