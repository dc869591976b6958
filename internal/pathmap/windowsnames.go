package pathmap

import (
	"fmt"
	"slices"
	"strings"
)

// NameError says that a path is one of a host of Windows, where no file can have one of its names: what is written
// there goes to a device, to a stream of another file, or nowhere.
type NameError struct{ path, name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("no file of Windows is called %q, which is in the path %s", clip(e.name), clip(e.path))
}

// forbidden is the first name in a path of another system that no file of Windows has; "": there is none.
// Source: https://learn.microsoft.com/en-us/windows/win32/fileio/naming-a-file#naming-conventions
func forbidden(path string) string {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." {
			continue
		}
		control := strings.ContainsFunc(name, func(sign rune) bool { return sign < ' ' })
		if control || strings.ContainsAny(name, `<>:"|?*\`) || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") ||
			device(name) {
			return name
		}
	}
	return ""
}

// device says whether a name is one of a device, whatever extension it has.
func device(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	if number, ok := strings.CutPrefix(base, "COM"); ok || strings.HasPrefix(base, "LPT") {
		if !ok {
			number = strings.TrimPrefix(base, "LPT")
		}
		return slices.Contains(strings.Split("0123456789¹²³", ""), number)
	}
	return slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}, base)
}
