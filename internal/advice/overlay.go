package advice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// An overlay replaces files by others, by absolute names; "" removes a file. Only the
// go command and code that reads sources by these names see it.
type overlay map[string]string

// command returns a command in the directory of the module that sees the overlay.
func (o overlay) command(m *module, tmp string) (command, error) {
	name, err := o.write(tmp)
	return command{m.dir, []string{"PWD=" + m.dir, "GOFLAGS=" + strings.TrimSpace(m.GOFLAGS+" '-overlay="+name+"'")}}, err
}

// write writes the overlay in the format of the go command.
func (o overlay) write(tmp string) (name string, err error) {
	text, err := json.Marshal(struct{ Replace overlay }{o})
	if err != nil {
		return "", err
	}
	return tempFile(tmp, "overlay-*.json", text)
}

// add replaces a file by a text.
func (o overlay) add(tmp, name string, text []byte) (err error) {
	o[name], err = tempFile(tmp, "*-"+filepath.Base(name), text)
	return err
}

// renamed matches what the names of files begin with that are compiled under other names.
var renamed = regexp.MustCompile(`isobar-renamed-\d+-`)

// apart returns an overlay that gives each of some files a name of its own, too.
func (o overlay) apart(files []string) overlay {
	all := overlay{}
	maps.Copy(all, o)
	for i, name := range files {
		dir, base := filepath.Split(name)
		all[fmt.Sprint(dir, "isobar-renamed-", i, "-", base)] = cmp.Or(all[name], name)
		all[name] = ""
	}
	return all
}

// tempFile creates a temporary file with a text.
func tempFile(dir, pattern string, text []byte) (name string, err error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Close())
}

// resolved returns the absolute name of a directory without symbolic links, as the go
// command prints it.
func resolved(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// A module is the go command's view of a directory.
type module struct {
	GOMOD, GOWORK, GOFLAGS string
	dir                    string // the directory, without symbolic links
	root                   string // directory of the enclosing module or workspace
}

// goEnv asks the go command about a directory.
func goEnv(ctx context.Context, dir string) (m module, err error) {
	if m.dir, err = resolved(dir); err != nil {
		return m, err
	}
	out, err := command{m.dir, []string{"PWD=" + m.dir}}.run(ctx, "go", "env", "-json", "GOMOD", "GOWORK", "GOFLAGS")
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(out, &m); err != nil {
		return m, fmt.Errorf("advise: go env: %w", err)
	}
	switch {
	case m.GOWORK != "" && m.GOWORK != "off":
		m.root = filepath.Dir(m.GOWORK)
	case m.GOMOD == "" || m.GOMOD == os.DevNull:
		return m, errors.New("advise: no module here; run it inside a module")
	default:
		m.root = filepath.Dir(m.GOMOD)
	}
	if !within(m.dir, m.root) {
		return m, fmt.Errorf("advise: %s is not below its workspace %s; set GOWORK=off, or move the go.work "+
			"file above both", m.dir, m.GOWORK)
	}
	return m, nil
}
