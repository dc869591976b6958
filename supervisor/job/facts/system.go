package facts

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Systems by the names that Go gives them, and anySystem for a job that runs on all of them.
const (
	systemLinux   = "linux"
	systemMacOS   = "darwin"
	systemWindows = "windows"
	anySystem     = "any"
)

// Family is what systems have in common whose paths have one form.
type Family string

// Families of systems. An empty one means all systems, or an unknown one.
const (
	FamilyUnix    Family = "unix"
	FamilyWindows Family = "windows"
)

// FamilyOf is the family of a job's or a host's system.
func FamilyOf(system string) Family {
	switch system {
	case "", anySystem:
		return ""
	case systemWindows:
		return FamilyWindows
	}
	return FamilyUnix
}

func checkSystem(text string) error {
	if text != "" && !slices.Contains([]string{systemLinux, systemMacOS, systemWindows, anySystem}, text) {
		return fmt.Errorf("%q is no system; write linux, darwin, windows or any", text)
	}
	return nil
}

// TextsWithPaths are the job's texts that a host runs or reads, as they are mapped there, each with the name of the
// variable whose value it is; "": of none. A whole environment that was exported does not count: it has paths of the
// submitter's machine that no item reads.
func (j *JobFacts) TextsWithPaths() iter.Seq2[string, string] {
	return func(yield func(variable, text string) bool) {
		for _, list := range [][]string{{j.Cwd}, j.Command, j.Validate, j.Preflights, j.Postflights, j.AgendaPreflights,
			j.AgendaPostflights} {
			for _, text := range list {
				if !yield("", text) {
					return
				}
			}
		}
		if slices.Contains(j.Flags, FlagExport) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(j.Env)) {
			if !yield(name, j.Env[name]) {
				return
			}
		}
	}
}
