//go:build !linux

package http11

import "syscall"

// If rawIO is false, a connection is read and written with its own methods.
const rawIO = false

func readFD(uintptr, []byte) (int, syscall.Errno)  { return 0, syscall.ENOSYS }
func writeFD(uintptr, []byte) (int, syscall.Errno) { return 0, syscall.ENOSYS }
func again(syscall.Errno) bool                     { return false }
func unsent(uintptr) int                           { return unknown }
func unread(uintptr) bool                          { return false }
