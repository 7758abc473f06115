// Command repository makes a Git repository in memory, commits to it and compares the
// commits.
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/go-git/go-billy/v5/memfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
)

func main() {
	files := memfs.New()
	repo, err := git.Init(memory.NewStorage(), files)
	if err != nil {
		log.Fatal(err)
	}
	tree, err := repo.Worktree()
	if err != nil {
		log.Fatal(err)
	}
	for i := range 40 {
		for n := range 12 {
			f, err := files.Create(fmt.Sprintf("dir%d/file%d.txt", n%4, n))
			if err != nil {
				log.Fatal(err)
			}
			for line := range 200 {
				fmt.Fprintf(f, "line %d of file %d, version %d\n", line, n, i*(line%7/6))
			}
			if err := f.Close(); err != nil {
				log.Fatal(err)
			}
		}
		if err := tree.AddWithOptions(&git.AddOptions{All: true}); err != nil {
			log.Fatal(err)
		}
		by := &object.Signature{Name: "a", Email: "a@example.com", When: time.Unix(int64(1_700_000_000+i), 0)}
		if _, err := tree.Commit(fmt.Sprintf("version %d", i), &git.CommitOptions{Author: by}); err != nil {
			log.Fatal(err)
		}
	}
	commits, err := repo.Log(&git.LogOptions{})
	if err != nil {
		log.Fatal(err)
	}
	added := 0
	err = commits.ForEach(func(c *object.Commit) error {
		stats, err := c.Stats()
		for _, s := range stats {
			added += s.Addition
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(added)
}
