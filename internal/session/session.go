// Package session is the part of the commands below flags, texts and exit codes.
//
// In: a [Session] (where to read and write, which store), plans, claims, a tuner. Out: runs in the store, measured
// here or by a fleet, with progress on a terminal; the report of a run; the ledger of claims; a diagnosis of the
// machine. Errors tell the command its exit code: a [Misuse], [ErrInterrupted]; any other error is a failure.
//
// Imports: base, kit, lab, study, show, tune, fleet. The commands and the pages of isobar ui build on it.
package session

import (
	"errors"
	"io"
)

// A Session is what commands share: where they read and write, and the store.
type Session struct {
	In       io.Reader
	Out, Err io.Writer
	Store    string // the store's file; "" for the default
}

// A Misuse is a mistake in how the user called a command.
type Misuse struct{ err error }

func (m *Misuse) Error() string { return m.err.Error() }

func (m *Misuse) Unwrap() error { return m.err }

// Misused makes an error a Misuse; nil stays nil.
func Misused(err error) error {
	if err == nil {
		return nil
	}
	return &Misuse{err}
}

// ErrInterrupted means that a signal ended a run, and that the user was told what is kept.
var ErrInterrupted = errors.New("interrupted")
