package http11

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A FileTree is a Handler that serves the regular files under Root, as SendOpen
// does, by the path of the request without Prefix; "index.html" for a path that
// ends with a slash. Everything else is answered by 404, but for a directory
// that is asked for without a slash: 301 sends the client to the path with one.
//
// What a path names cannot lie outside Root, also by symbolic links. Elements
// are percent-decoded; one that is then "." or ".." or has a slash or NUL names
// nothing.
type FileTree struct {
	Root   *os.Root // must be set
	Prefix string   // of decoded paths, with or without the last slash

	// Dotfiles serves files whose path has an element that begins with a dot,
	// such as /.well-known/security.txt, but also /.git/config. (On Windows the
	// short 8.3 name of such a file, if it has one, is served in any case.)
	Dotfiles bool
}

// Files is FileTree{Root: root, Prefix: prefix}.
func Files(root *os.Root, prefix string) Handler { return FileTree{Root: root, Prefix: prefix} }

// ServeHTTP11 answers with a file.
func (t FileTree) ServeHTTP11(c *Context) {
	sent := c.Path().String()
	if err := t.serve(c, sent); err != nil {
		c.Error(404, "not found") // nothing was sent before
	}
}

// serve answers, or returns an error if there is nothing to answer with.
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
	c.sendStat(f, info) // an error shows in the response
	return nil
}

// name returns the name under Root of what a path names, as the operating
// system has it.
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
	if filepath.Separator == '/' { // a name may be of any other bytes
		return name, nil
	}
	return filepath.Localize(name)
}

// withSlash returns a reference to the path as it was sent with a slash behind
// it. It is relative to the last element: that cannot name another host, as
// "//host/" or "/\host/" would, and is right behind a proxy that has cut off
// the begin of the path.
func withSlash(sent, query string) string {
	reference := "./" + sent[strings.LastIndexByte(sent, '/')+1:] + "/"
	if query != "" {
		reference += "?" + query
	}
	return reference
}
