package translate

import (
	"regexp"
	"strings"
	"sync"

	"qb/api"
	"qb/internal/units"
	"qb/supervisor/lead/problem"
)

// tokenOfItem matches a placeholder for a value of the item, which has at least one byte.
var tokenOfItem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`QB_(?:PADDED_)?FRAME_(?:NUMBER|START|END|STEP|RANGE)`)
})

// numberOfItem is replaced by each number and label of an item in turn.
var numberOfItem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`QB_(?:PADDED_)?FRAME_NUMBER`)
})

// drive begins a path of Windows, of which a path map may make another.
var drive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z]:|^\\\\`)
})

// checkPath refuses a path that no system call takes, however short the values in it are.
func checkPath(field, path string) error {
	return checkReplaced(field, path, tokenOfItem().ReplaceAllLiteralString(path, "1"))
}

// checkLongPath refuses a path of an output file that no file can have for one of the numbers of the items, of which
// the longest has so many bytes.
func checkLongPath(path string, longest int) error {
	longer := numberOfItem().ReplaceAllLiteralString(path, strings.Repeat("1", longest))
	return checkReplaced("validate", path, tokenOfItem().ReplaceAllLiteralString(longer, "1"))
}

// checkReplaced checks a path with something in the place of its tokens.
func checkReplaced(field, path, made string) error {
	if drive().MatchString(path) {
		made = strings.ReplaceAll(made, `\`, "/")
	}
	if len(made) > api.MaxPath {
		return problem.Invalid(field, "%q has %d bytes; a path can have %d", problem.Clip(path), len(made), api.MaxPath)
	}
	for name := range strings.SplitSeq(made, "/") {
		if len(name) > api.MaxFileName {
			return problem.Invalid(field, "%q in a path has %d bytes; the name of a file or folder can have %d",
				problem.Clip(name), len(name), api.MaxFileName)
		}
	}
	return nil
}

// checkOutputs checks the files of -validate.
func checkOutputs(files []string) error {
	for _, file := range files {
		path := units.ParseOutput(file).Path
		if strings.HasSuffix(path, ":new") {
			return problem.Invalid("validate", "%q; write the size before new, as PATH:10K:new", problem.Clip(file))
		}
		if err := checkPath("validate", path); err != nil {
			return err
		}
	}
	return nil
}
