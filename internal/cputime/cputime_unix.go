//go:build unix

// Package cputime tells what a process took of processors, by which benchmarks measure
// where a machine is shared.
package cputime

import (
	"syscall"
	"time"
)

// Used is the time that this process had so far, its own and the system's for it.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
