package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal says whether a person watches what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// terminalSize is in cells; 24 lines of 80 where it is not known.
func terminalSize(w io.Writer) (lines, width int) {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Row > 0 && size.Col > 0 {
			return int(size.Row), int(size.Col)
		}
	}
	return 24, 80
}

// currentUmask reads the umask; the kernel has no call that only reads it.
func currentUmask() int {
	mask := unix.Umask(0o077)
	unix.Umask(mask)
	return mask
}
