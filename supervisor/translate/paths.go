package translate

import (
	"regexp"
	"strings"

	"qb/api"
	"qb/supervisor/problem"
	"qb/units"
)

// tokenOfItem stands for a value of the item, of a byte at least.
var tokenOfItem = regexp.MustCompile(`QB_(?:PADDED_)?FRAME_(?:NUMBER|START|END|STEP|RANGE)`)

// drive begins a path of Windows, of which a path map may make another.
var drive = regexp.MustCompile(`^[A-Za-z]:|^\\\\`)

// checkPath refuses a path that no system call takes, however short the values in it are.
func checkPath(field, path string) error {
	shortest := tokenOfItem.ReplaceAllLiteralString(path, "1")
	if drive.MatchString(path) {
		shortest = strings.ReplaceAll(shortest, `\`, "/")
	}
	if len(shortest) > api.MaxPath {
		return problem.Invalid(field, "%q has %d bytes; a path can have %d", problem.Clip(path), len(shortest), api.MaxPath)
	}
	for name := range strings.SplitSeq(shortest, "/") {
		if len(name) > api.MaxFileName {
			return problem.Invalid(field, "%q in a path has %d bytes; the name of a file or folder can have %d", problem.Clip(name), len(name), api.MaxFileName)
		}
	}
	return nil
}

// checkOutputs checks the files of -validate.
func checkOutputs(files []string) error {
	for _, file := range files {
		path, _ := units.CutSize(file)
		if err := checkPath("validate", path); err != nil {
			return err
		}
	}
	return nil
}
