package cell

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Run is one plan and its results so far.
type Run struct {
	ID      int64 // in the store, from 1 and never reused; 0 outside of one
	Name    string
	Created time.Time
	Args    []string // the command line, without the program's name
	Version string   // of isobar
	Machine Machine
	Seed    uint64
	// Imported marks results that were not measured by isobar.
	Imported bool
	// Total is the number of planned cells. Finished and Failed are the cells with a
	// record, as derived by the store.
	Total, Finished, Failed int
	// Answered says that the store has the run's answer, with which tune ends.
	Answered bool
}

// Unanswered reports whether the run is of tune, and has not come to an answer.
func (r Run) Unanswered() bool {
	return !r.Answered && !r.Imported && len(r.Args) > 0 && r.Args[0] == "tune"
}

// Status says in a word or two how far the run has come.
func (r Run) Status() string {
	switch {
	case r.Imported:
		return "imported"
	case r.Finished+r.Failed < r.Total:
		return "unfinished"
	case r.Failed > 0:
		return fmt.Sprintf("%d failed", r.Failed)
	case r.Unanswered():
		return "no answer"
	}
	return "complete"
}

// Repeat returns the command line that measures the run's plan again; "" for an imported run.
func (r Run) Repeat() string {
	if r.Imported {
		return ""
	}
	words := []string{"isobar"}
	seeded := false
	for _, arg := range r.Args {
		seeded = seeded || arg == "--seed" || strings.HasPrefix(arg, "--seed=")
		if arg == "--" && !seeded {
			words, seeded = append(words, "--seed", strconv.FormatUint(r.Seed, 10)), true
		}
		words = append(words, Quote(arg))
	}
	if !seeded {
		words = append(words, "--seed", strconv.FormatUint(r.Seed, 10))
	}
	return strings.Join(words, " ")
}

// Resume returns the arguments of isobar that continue the run, on its fleet if it had one.
func (r Run) Resume() string {
	words := []string{"lab run --resume", strconv.FormatInt(r.ID, 10)}
	for i, arg := range r.Args {
		if arg == "--" {
			break
		}
		if strings.HasPrefix(arg, "--fleet") {
			words = append(words, Quote(arg))
			if !strings.Contains(arg, "=") && i+1 < len(r.Args) {
				words = append(words, Quote(r.Args[i+1]))
			}
		}
	}
	return strings.Join(words, " ")
}

// Quote makes s one word for a POSIX shell.
func Quote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,/:@%"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
