//go:build cgo

package main

/*
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int work(void) {
	char *p = malloc(100000);
	memset(p, 7, 100000);
	usleep(300);
	int sum = 0;
	for (int i = 0; i < 100000; i++) sum += p[i];
	free(p);
	return sum;
}
*/
import "C"

func init() {
	native = func() { check(C.work() == 700000, "C counted wrong") }
}
