//go:build cgo

package main

/*
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// fill allocates n blocks of a size, and frees the half in their middle.
static void fill(int n, int size) {
	char **all = malloc(n * sizeof *all);
	for (int i = 0; i < n; i++) {
		all[i] = malloc(size);
		memset(all[i], 1, size);
	}
	for (int i = n / 4; i < n / 4 * 3; i++) free(all[i]);
}
*/
import "C"

import "runtime"

func init() {
	runtime.LockOSThread() // main's thread has the arena that others do not
	fill := func(remedied bool) {
		C.fill(planted/1024, 1000) // and 24 bytes of malloc's own
		if remedied {
			C.malloc_trim(0)
		}
	}
	plants["malloc"] = fill
	plants["arena"] = func(remedied bool) {
		done := make(chan bool)
		go func() {
			runtime.LockOSThread()
			fill(remedied)
			done <- true
		}()
		<-done
	}
}
