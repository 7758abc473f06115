// Busy does what a server does, and checks each result. It answers every line of standard input
// with the square of its number, and every SIGUSR1 with a line.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// counter is what the reader reads.
var counter atomic.Uint64

// native is extra work of the build with C.
var native = func() {}

func check(ok bool, what string) {
	if !ok {
		panic(what)
	}
}

type list struct {
	next  *list
	value int
}

// allocates builds lists and maps and adds them up.
func allocates() {
	var first *list
	all := make(map[int]*list)
	for i := range 1000 {
		first = &list{first, i}
		all[i] = first
	}
	sum := 0
	for l := first; l != nil; l = l.next {
		check(all[l.value] == l, "a map lost an entry")
		sum += l.value
	}
	check(sum == 999*1000/2, "a list lost an element")
}

// computes keeps its state in registers for long enough to be preempted by a signal.
func computes() {
	h, x := uint64(14695981039346656037), 0.0
	for i := range 4_000_000 {
		h = (h ^ uint64(i&0xff)) * 1099511628211
		x += math.Sqrt(float64(i & 0xff))
	}
	check(h == 0x376e9555ed02ce25 && x == 0x1.448aed9133826p+25, fmt.Sprintf("a computation gave %#x and %x", h, x))
}

// calls writes and reads a pipe, and sleeps.
func calls() {
	r, w, err := os.Pipe()
	check(err == nil, "no pipe")
	text := bytes.Repeat([]byte("isobar"), 5000) // more than fits at once, in part
	go func() {
		_, err := w.Write(text)
		check(err == nil && w.Close() == nil, "a write failed")
	}()
	got, err := io.ReadAll(r)
	check(err == nil && bytes.Equal(got, text) && r.Close() == nil, "a pipe lost bytes")
	start := time.Now()
	time.Sleep(time.Millisecond)
	check(time.Since(start) >= time.Millisecond, "a sleep ended early")
	syscall.Nanosleep(&syscall.Timespec{Nsec: 1e5}, nil)
}

// forks runs another program.
func forks() {
	err := exec.Command("false").Run()
	exit, ok := err.(*exec.ExitError)
	check(ok && exit.ExitCode() == 1, fmt.Sprintf("a child ended with %v", err))
}

func always(do func()) {
	go func() {
		for {
			do()
			counter.Add(1)
		}
	}()
}

func main() {
	for range 2 * runtime.GOMAXPROCS(0) {
		always(allocates)
	}
	always(computes)
	always(calls)
	always(forks)
	always(native)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for range signals {
			fmt.Println("signal")
		}
	}()
	fmt.Printf("counter %p\n", &counter)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var n int
		fmt.Sscan(in.Text(), &n)
		fmt.Println(n * n)
	}
}
