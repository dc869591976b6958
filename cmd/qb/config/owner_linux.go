package config

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUsOrRoot says whether nobody else can have written the file's name.
func ownedByUsOrRoot(info fs.FileInfo) bool {
	return OwnedBy(info, 0) || OwnedBy(info, os.Geteuid())
}

func OwnedBy(info fs.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid
}
