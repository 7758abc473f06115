package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// storePath is where the store is: --store, $ISOBAR_STORE, or isobar.db in the
// user's data directory. Nothing is created here.
func (a *app) storePath() (string, error) {
	if a.store != "" {
		return a.store, nil
	}
	if path := os.Getenv("ISOBAR_STORE"); path != "" {
		return path, nil
	}
	dir, err := dataDir(runtime.GOOS, os.Getenv)
	if err != nil {
		return "", fmt.Errorf("%w: set ISOBAR_STORE or give --store FILE", err)
	}
	return filepath.Join(dir, "isobar.db"), nil
}

// dataDir is the directory for data of this program that the user keeps:
// $XDG_DATA_HOME/isobar where that is set (XDG Base Directory Specification),
// otherwise what the platform uses.
func dataDir(goos string, getenv func(string) string) (string, error) {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "isobar"), nil
	}
	parent, below := "HOME", filepath.Join(".local", "share", "isobar")
	switch goos {
	case "windows":
		parent, below = "LocalAppData", "isobar"
	case "darwin", "ios":
		below = filepath.Join("Library", "Application Support", "isobar")
	}
	dir := getenv(parent)
	if dir == "" {
		return "", errors.New("no place for the store: " + parent + " is not set")
	}
	return filepath.Join(dir, below), nil
}

// reportPath is where the HTML report of a run goes unless --out says
// otherwise: beside the store.
func reportPath(store string, run int64) string {
	return filepath.Join(filepath.Dir(store), "reports", fmt.Sprintf("run-%d.html", run))
}
