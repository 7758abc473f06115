package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

var errAbsent = errors.New("no such file")

// A repo answers requests for objects from one git process. It is not safe for
// concurrent use.
type repo struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func open(dir string) (*repo, error) {
	cmd := exec.Command("git", "-C", dir, "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &repo{cmd, in, bufio.NewReader(out)}, nil
}

func (r *repo) close() {
	r.in.Close()
	r.cmd.Wait()
}

// object returns the contents and kind of the object that git knows by a name.
func (r *repo) object(name string) (data []byte, kind string, err error) {
	if strings.Contains(name, "\n") || strings.Contains(name, ":./") || strings.Contains(name,
		":../") { // a relative path ends git
		return nil, "", errAbsent
	}
	if _, err := fmt.Fprintln(r.in, name); err != nil {
		return nil, "", err
	}
	head, err := r.out.ReadString('\n')
	if err != nil {
		return nil, "", err
	}
	fields := strings.Fields(head)
	if len(fields) != 3 || fields[1] == "missing" {
		return nil, "", fmt.Errorf("%s: %w", name, errAbsent)
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil {
		return nil, "", fmt.Errorf("git cat-file: %q: %w", head, err)
	}
	data = make([]byte, size+1) // and a newline
	if _, err := io.ReadFull(r.out, data); err != nil {
		return nil, "", err
	}
	return data[:size], fields[1], nil
}

// A tree is the files of one revision.
type tree struct {
	repo *repo
	rev  string
}

func (r *repo) at(rev string) *tree { return &tree{r, rev} }

func (t *tree) file(name string) ([]byte, error) {
	data, kind, err := t.repo.object(t.rev + ":" + name)
	if err == nil && kind != "blob" {
		err = fmt.Errorf("%s: %w", name, errAbsent)
	}
	return data, err
}

// dir returns the names in a directory, or nil if it does not exist.
func (t *tree) dir(name string) []string {
	if name == "." {
		name = ""
	}
	data, kind, err := t.repo.object(t.rev + ":" + name)
	if err != nil || kind != "tree" {
		return nil
	}
	var names []string
	for len(data) > 0 { // mode, space, name, zero, twenty bytes of hash
		end := bytes.IndexByte(data, 0)
		if end < 0 || len(data) < end+21 {
			return nil
		}
		_, name, _ := strings.Cut(string(data[:end]), " ")
		names = append(names, name)
		data = data[end+21:]
	}
	return names
}

var hunk = regexp.MustCompile(`(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// replaced returns the lines by which the commit replaced its line.
func replaced(dir string, c commit) (from, to int, err error) {
	out, err := exec.Command("git", "-C", dir, "diff", "-U0", "--no-renames", "--no-color", c.Commit+"^", c.Commit, "--",
		c.File).Output()
	if err != nil {
		return 0, 0, fmt.Errorf("git diff: %w", err)
	}
	for _, m := range hunk.FindAllSubmatch(out, -1) {
		start, n := number(m[1], 0), number(m[2], 1)
		if c.Line >= start && c.Line < start+n {
			from = number(m[3], 0)
			return from, from + number(m[4], 1) - 1, nil
		}
	}
	return 0, 0, fmt.Errorf("%s:%d: the commit does not change this line", c.File, c.Line)
}

func number(text []byte, otherwise int) int {
	if len(text) == 0 {
		return otherwise
	}
	n, _ := strconv.Atoi(string(text)) // digits, by the pattern
	return n
}
