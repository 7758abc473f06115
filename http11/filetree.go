package http11

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A FileTree is a Handler that serves the regular files under Root as SendOpen
// does, by the request path without Prefix; a path that ends with a slash means
// its "index.html". A directory requested without a slash gets 301 to the path
// with one. Everything else gets 404.
//
// A path cannot reach outside Root, even through symbolic links. Path elements
// are percent-decoded; one that then is "." or ".." or contains a slash or NUL
// matches nothing.
type FileTree struct {
	Root   *os.Root // must be set
	Prefix string   // of decoded paths, with or without the trailing slash

	// Dotfiles serves files whose path has an element that begins with a dot, such
	// as /.well-known/security.txt, but also /.git/config. (On Windows a file's
	// short 8.3 name, if it has one, is always served.)
	Dotfiles bool
}

// Files returns FileTree{Root: root, Prefix: prefix}.
func Files(root *os.Root, prefix string) Handler { return FileTree{Root: root, Prefix: prefix} }

// ServeHTTP11 answers with a file.
func (t FileTree) ServeHTTP11(c *Context) {
	sent := c.Path().String()
	if err := t.serve(c, sent); err != nil {
		c.Error(404, "not found") // nothing was sent yet
	}
}

// serve answers, or returns an error if there is no file.
func (t FileTree) serve(c *Context, sent string) error {
	name, err := t.name(sent)
	if err != nil {
		return err
	}
	slash := strings.HasSuffix(sent, "/")
	if slash {
		name = filepath.Join(name, "index.html")
	}
	f, err := t.Root.OpenFile(name, openFlags, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() && !slash && (c.Method().Equal("GET") || c.Method().Equal("HEAD")) {
		c.SetStatus(301)
		c.SetHeader("Location", withSlash(sent, c.Query().String()))
		return nil
	}
	c.sendStat(f, info) // the response shows an error
	return nil
}

// name converts a path to a name under Root, in the operating system's form.
func (t FileTree) name(sent string) (string, error) {
	decoded, err := url.PathUnescape(sent)
	rest, ok := strings.CutPrefix(decoded, strings.TrimSuffix(t.Prefix, "/"))
	switch {
	case err != nil:
		return "", err
	case !ok, rest != "" && rest[0] != '/', strings.Count(decoded, "/") != strings.Count(sent, "/"),
		strings.IndexByte(rest, 0) >= 0:
		return "", os.ErrNotExist
	}
	for element := range strings.SplitSeq(rest, "/") {
		if element == "." || element == ".." || !t.Dotfiles && strings.HasPrefix(element, ".") {
			return "", os.ErrNotExist
		}
	}
	name := path.Clean("." + rest)
	if filepath.Separator == '/' { // all other bytes are allowed in names
		return name, nil
	}
	return filepath.Localize(name)
}

// withSlash returns a reference to the path as sent, followed by a slash. It is
// relative to the last element: it cannot name another host, as "//host/" or
// "/\host/" would, and stays correct behind a proxy that strips a path prefix.
func withSlash(sent, query string) string {
	reference := "./" + sent[strings.LastIndexByte(sent, '/')+1:] + "/"
	if query != "" {
		reference += "?" + query
	}
	return reference
}
