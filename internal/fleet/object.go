package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"
)

// objectHeader names a result that is in the object store because it does not
// fit into a message.
const objectHeader = "Isobar-Object"

// errBadObject marks errors of objects that retrying cannot fix.
var errBadObject = errors.New("bad object")

// maxObject bounds a result in the object store.
const maxObject = 256 << 20

// putResult stores an encoded result under the name of the attempt.
func (f *Fleet) putResult(ctx context.Context, name string, data []byte) error {
	bucket, err := f.js.ObjectStore(ctx, resultStore)
	if err == nil {
		_, err = bucket.PutBytes(ctx, name, data)
	}
	if err != nil {
		return fmt.Errorf("object store %s: %w", resultStore, err)
	}
	return nil
}

// resultData returns a result's bytes, from the message or from the object it
// names.
func (f *Fleet) resultData(ctx context.Context, m jetstream.Msg) ([]byte, error) {
	name := m.Headers().Get(objectHeader)
	if name == "" {
		return m.Data(), nil
	}
	var data bytes.Buffer
	if _, err := f.getObject(ctx, resultStore, name, maxObject, &data); err != nil {
		return nil, fmt.Errorf("object %s: %w", name, err)
	}
	return data.Bytes(), nil
}

// getObject copies an object to w and returns the SHA-256 of the copied bytes.
func (f *Fleet) getObject(ctx context.Context, store, name string, limit int64,
	w io.Writer) (digest string, err error) {
	bucket, err := f.js.ObjectStore(ctx, store)
	if err != nil {
		return "", err
	}
	object, err := bucket.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		err = fmt.Errorf("%w: %w", errBadObject, err)
	}
	if err != nil {
		return "", err
	}
	defer object.Close()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, hash), io.LimitReader(object, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%w: oversized: more than %d bytes", errBadObject, limit)
	}
	if err == nil {
		err = object.Error()
	}
	return hex.EncodeToString(hash.Sum(nil)), err
}

// removeObject removes the object of a stored result. If that fails the object
// ages out.
func (f *Fleet) removeObject(m jetstream.Msg) {
	name := m.Headers().Get(objectHeader)
	if name == "" {
		return
	}
	if bucket, err := f.js.ObjectStore(context.Background(), resultStore); err == nil {
		bucket.Delete(context.Background(), name)
	}
}
