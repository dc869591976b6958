package main

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUsOrRoot says whether nobody else can have written the file's name.
func ownedByUsOrRoot(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}
