package main

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from a child, which is informed by this process, once; and ends it with us, come
// what may.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
