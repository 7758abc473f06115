// Command market is the lab's workload market without its pace: every tick is
// processed as soon as the one before is done.
package main

import (
	"fmt"
	"os"

	"github.com/isobar-go/isobar/internal/lab/workload"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	w, err := workload.Lookup("market")
	if err != nil {
		return err
	}
	params, err := w.Resolve(map[string]string{"tickrate": "1000000", "duration": "3s"})
	if err != nil {
		return err
	}
	task, err := w.New(workload.Env{Params: params, Seed: 1})
	if err != nil {
		return err
	}
	defer task.Close()
	open := task.(workload.Open)
	var sum uint64
	for {
		_, ok, err := open.Next()
		if err != nil || !ok {
			fmt.Println(sum)
			return err
		}
		sum += open.Do()
	}
}
