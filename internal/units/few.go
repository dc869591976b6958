package units

import (
	"fmt"
	"strings"
)

// MostNamed is how many names a sentence lists before it counts the others.
const MostNamed = 8

// Few lists names for an error: all of them, or the first and how many more there are. A reader finds no mistake in a
// list of forty.
func Few(names []string) string {
	if more := len(names) - MostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:MostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
