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
