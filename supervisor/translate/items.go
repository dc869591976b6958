package translate

import (
	"strings"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/problem"
)

// allNumbers is the token, and the variable, of all numbers of an item.
const allNumbers = "QB_FRAME_" + facts.TokenRange

// CheckItems refuses items of which no host could make a process, and names that no address can hold. An agenda that is
// nil has none.
func CheckItems(j *facts.JobFacts, a *agenda.Agenda) error {
	if a == nil {
		return checkProcess(j, 0)
	}
	for _, name := range []string{".", ".."} {
		if _, found := a.Find(name); found {
			return problem.Invalid("range", "an item labelled %q: in an address that is a folder, so that nobody could ask for its output; write another label", name)
		}
	}
	longest := a.LongestName()
	if size := len(allNumbers) + len("=") + longest; size > api.MaxWord {
		return problem.Invalid("range", "the numbers and labels of one item take up to %d bytes as %s, and no process can have a variable of more than %d; give a smaller -chunk, or more -partitions", size, allNumbers, api.MaxWord)
	}
	for n, word := range j.Command {
		if j.Shell {
			break // the shell gets a long list in the variable
		}
		if size := len(word) + grown(word, longest); size > api.MaxWord {
			return problem.Invalid("command", "argument %d has up to %d bytes with the numbers of an item, and no process can have one of more than %d; give a smaller -chunk, or more -partitions", n, size, api.MaxWord)
		}
	}
	for _, file := range j.Validate {
		if facts.HasToken(file, facts.TokenNumber) && a.MostEntries() > api.MaxOutputs {
			return problem.Invalid("validate", "%q is a file for each number of an item, and items have up to %d numbers; at most %d; give a smaller -chunk, or check the files in -agenda_postflights", problem.Clip(file), a.MostEntries(), api.MaxOutputs)
		}
	}
	return checkProcess(j, longest)
}

// grown is how much longer a word may become by its tokens of all numbers of an item, which take so many bytes.
func grown(word string, longest int) int {
	tokens := strings.Count(word, allNumbers) - strings.Count(word, "$"+allNumbers) - strings.Count(word, "${"+allNumbers)
	return tokens * max(0, longest-len(allNumbers))
}

// checkProcess refuses a command and an environment that are too much together. Longest is how long the list of an
// item's numbers may be.
func checkProcess(j *facts.JobFacts, longest int) error {
	size := longest
	for _, word := range j.Command {
		if size += len(word) + api.ProcessWord; !j.Shell {
			size += grown(word, longest)
		}
	}
	for name, value := range j.Env {
		size += len(name) + len("=") + len(value) + api.ProcessWord
	}
	if size > api.MaxProcess {
		return problem.Invalid("command", "command and environment take %d bytes together, with %d more for each word and the numbers of an item; a process can have %d beside what qb adds; put the data into a file, or submit fewer variables",
			size, api.ProcessWord, api.MaxProcess)
	}
	return nil
}
