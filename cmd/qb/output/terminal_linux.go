package output

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// IsTerminal says whether a person watches what is written.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// TerminalSize is in cells; 24 lines of 80 where it is not known.
func TerminalSize(w io.Writer) (lines, width int) {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Row > 0 && size.Col > 0 {
			return int(size.Row), int(size.Col)
		}
	}
	return 24, 80
}
