package facts

import (
	"fmt"
	"slices"
)

// Systems by the names that Go gives them, and AnySystem for a job that runs on all of them.
const (
	systemLinux   = "linux"
	systemMacOS   = "darwin"
	systemWindows = "windows"
	AnySystem     = "any"
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
	case "", AnySystem:
		return ""
	case systemWindows:
		return FamilyWindows
	}
	return FamilyUnix
}

func checkSystem(text string) error {
	if text != "" && !slices.Contains([]string{systemLinux, systemMacOS, systemWindows, AnySystem}, text) {
		return fmt.Errorf("%q is no system; write linux, darwin, windows or any", text)
	}
	return nil
}

// Lines are the job's texts that a host runs or reads, as they are mapped there, with whether a text is a line for a
// shell. Its environment is none of them: it has paths of the submitter's machine that no item reads.
func (j *JobFacts) Lines(visit func(text string, line bool)) {
	visit(j.Cwd, false)
	for n, word := range j.Command {
		visit(word, j.Shell || n == 0 && len(j.Command) == 1)
	}
	for _, file := range j.Validate {
		visit(file, false)
	}
	for _, list := range [][]string{j.Preflights, j.Postflights, j.AgendaPreflights, j.AgendaPostflights} {
		for _, text := range list {
			visit(text, true)
		}
	}
}
