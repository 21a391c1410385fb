package cputime

import (
	"syscall"
	"time"
)

// Used is the time that this process had so far, its own and the system's for it.
func Used() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		panic(err)
	}
	var begun, ended, system, own syscall.Filetime
	if err := syscall.GetProcessTimes(self, &begun, &ended, &system, &own); err != nil {
		panic(err)
	}
	return duration(system) + duration(own)
}

// duration is a time counted in 100 ns, in two halves.
func duration(t syscall.Filetime) time.Duration {
	return 100 * time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime))
}
