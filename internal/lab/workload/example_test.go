package workload_test

import (
	"fmt"

	"github.com/isobar-go/isobar/internal/lab/workload"
)

func Example() {
	w, err := workload.Lookup("prealloc")
	if err != nil {
		fmt.Println(err)
		return
	}
	params, err := w.Resolve(map[string]string{"hint": "on", "iterations": "1_000"})
	if err != nil {
		fmt.Println(err)
		return
	}
	task, err := w.New(workload.Env{Params: params, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer task.Close()
	closed := task.(workload.Closed)
	ops, d := closed.Budget()
	fmt.Println(ops, "operations or", d, "on", closed.Workers(), "worker")
	_, err = w.Resolve(map[string]string{"hnit": "on"})
	fmt.Println(err)
	// Output:
	// 1000 operations or 10s on 1 worker
	// workload: prealloc has no parameter "hnit" (did you mean "hint"?) (it has: kind, hint, n, iterations, duration)
}
