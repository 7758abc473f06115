package advice

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/isobar-go/isobar/internal/base/atomicfile"
)

// A cache keeps the outcomes of packages in a directory, one file each. The key of an outcome
// covers all that it depends on: this program, the Go version, the checks, and the package as
// the go command compiled it; the name of that file depends on the source of the package and
// of all its imports. An entry that cannot be read or written counts as missing.
type cache struct {
	dir  string // empty for none
	salt string
}

// cacheLimit is the size in bytes above which the least recently used files are removed.
const cacheLimit = 64 << 20

func newCache(c Config) *cache {
	if c.Cache == "" {
		return &cache{}
	}
	exe, err := os.Executable()
	info, unread := os.Stat(exe)
	if err != nil || unread != nil {
		return &cache{}
	}
	salt := fmt.Sprintln(exe, info.Size(), info.ModTime().UnixNano(), runtime.Version())
	for _, ch := range c.Checks {
		salt += ch.Name + "\n"
	}
	return &cache{dir: c.Cache, salt: salt}
}

// key returns the key of one kind of result about a package as the go command compiled
// it, or "" if it cannot be cached.
func (c *cache) key(kind string, p *packages.Package) string {
	if c.dir == "" || len(p.Errors) > 0 || p.ExportFile == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendln(nil, c.salt, kind, p.PkgPath, sourceFiles(p), p.ExportFile))
	return hex.EncodeToString(sum[:])
}

// stored returns what the cache has under a key, or nil.
func stored[T any](c *cache, key string) *T {
	if key == "" {
		return nil
	}
	name := filepath.Join(c.dir, key)
	data, err := os.ReadFile(name)
	v := new(T)
	if err != nil || gob.NewDecoder(bytes.NewReader(data)).Decode(v) != nil {
		return nil
	}
	if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > time.Hour {
		now := time.Now()
		os.Chtimes(name, now, now) // the time of the last use, roughly
	}
	return v
}

func (c *cache) put(key string, v any) {
	var b bytes.Buffer
	if key == "" || os.MkdirAll(c.dir, 0o755) != nil || gob.NewEncoder(&b).Encode(v) != nil {
		return
	}
	atomicfile.Bytes(filepath.Join(c.dir, key), 0o600, b.Bytes())
}

// shrink removes the least recently used files if the cache exceeds the limit, and what
// a killed run left half written.
func (c *cache) shrink(limit int64) {
	entries, _ := os.ReadDir(c.dir) // empty without a cache
	var infos []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasPrefix(e.Name(), atomicfile.Prefix) && time.Since(info.ModTime()) > time.Hour {
			os.Remove(filepath.Join(c.dir, e.Name()))
			continue
		}
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	sum := int64(0)
	for _, info := range infos {
		if sum += info.Size(); sum > limit {
			os.Remove(filepath.Join(c.dir, info.Name()))
		}
	}
}
