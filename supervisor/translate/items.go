package translate

import (
	"strings"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/problem"
)

// CheckItems refuses items of which no host could make a process. An agenda that is nil has none.
func CheckItems(j *facts.JobFacts, a *agenda.Agenda) error {
	if a == nil {
		return nil
	}
	const all = "QB_FRAME_" + facts.TokenRange
	longest := a.LongestName()
	if size := len(all) + len("=") + longest; size > api.MaxWord {
		return problem.Invalid("range", "the numbers and labels of one item take up to %d bytes as %s, and no process can have a variable of more than %d; give a smaller -chunk, or more -partitions", size, all, api.MaxWord)
	}
	for n, word := range j.Command {
		if j.Shell {
			break // the shell gets a long list in the variable
		}
		tokens := strings.Count(word, all) - strings.Count(word, "$"+all) - strings.Count(word, "${"+all)
		if size := len(word) + tokens*(longest-len(all)); size > api.MaxWord {
			return problem.Invalid("command", "argument %d has up to %d bytes with the numbers of an item, and no process can have one of more than %d; give a smaller -chunk, or more -partitions", n, size, api.MaxWord)
		}
	}
	for _, file := range j.Validate {
		if facts.HasToken(file, facts.TokenNumber) && a.MostEntries() > api.MaxOutputs {
			return problem.Invalid("validate", "%q is a file for each number of an item, and items have up to %d numbers; at most %d; give a smaller -chunk, or check the files in -agenda_postflights", problem.Clip(file), a.MostEntries(), api.MaxOutputs)
		}
	}
	return nil
}
