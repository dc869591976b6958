package translate

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"qb/agenda"
	"qb/api"
	"qb/internal/units"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
)

// allNumbers is the token, and the variable, of all numbers of an item.
const allNumbers = "QB_FRAME_" + facts.TokenRange

// tokens of items, with the most bytes that a host may put in their places.
type tokens map[string]int

func tokensOf(a *agenda.Agenda, longest int) tokens {
	t, entry := tokens{allNumbers: longest}, a.LongestEntry()
	for _, name := range []string{facts.TokenNumber, "START", "END"} {
		t["QB_FRAME_"+name], t["QB_PADDED_FRAME_"+name] = entry, entry
	}
	return t
}

// inShell is the same in a line for a shell, which gets lists in variables.
func (t tokens) inShell() tokens {
	in := maps.Clone(t)
	in[allNumbers] = len(`'"${}"'`) + len(allNumbers)
	return in
}

// grown is how much longer a text may become by its tokens.
func (t tokens) grown(text string) (bytes int) {
	for name, size := range t {
		n := strings.Count(text, name) - strings.Count(text, "$"+name) - strings.Count(text, "${"+name)
		bytes += n * max(0, size-len(name))
	}
	return bytes
}

// CheckItems refuses items of which no host could make a process, and names that no address can hold. An agenda that is
// nil has none.
func CheckItems(j *facts.JobFacts, a *agenda.Agenda) error {
	if a == nil {
		return checkProcess(j, nil)
	}
	for _, name := range []string{".", ".."} {
		if _, found := a.Find(name); found {
			return problem.Invalid("range",
				"an item labelled %q: in an address that is a folder, so that nobody could ask for its output; write another label",
				name)
		}
	}
	longest := a.LongestName()
	if size := len(allNumbers) + len("=") + longest; size > api.MaxWord {
		return problem.Invalid("range",
			"the numbers and labels of one item take up to %d bytes as %s, and no process can have a variable of more than %d; give a smaller -chunk, or more -partitions",
			size, allNumbers, api.MaxWord)
	}
	values := tokensOf(a, longest)
	if err := checkGrown(j, values); err != nil {
		return err
	}
	for _, file := range j.Validate {
		if facts.HasToken(file, facts.TokenNumber) && a.MostEntries() > api.MaxOutputs {
			return problem.Invalid("validate",
				"%q is a file for each number of an item, and items have up to %d numbers; at most %d; give a smaller -chunk, or check the files in -agenda_postflights",
				problem.Clip(file), a.MostEntries(), api.MaxOutputs)
		}
	}
	return checkProcess(j, values)
}

// checkGrown refuses what no process can have once the numbers of an item are in it.
func checkGrown(j *facts.JobFacts, values tokens) error {
	within := func(member, what, text string, t tokens) error {
		if size := len(text) + t.grown(text); size > api.MaxWord {
			return problem.Invalid(member,
				"%s has up to %d bytes with the numbers of an item, and no process can have one of more than %d; write it or the range in fewer bytes, give a smaller -chunk, or more -partitions",
				what, size, api.MaxWord)
		}
		return nil
	}
	of, failed := values, error(nil)
	if j.Shell {
		of = values.inShell()
	}
	for n, word := range j.Command {
		failed = cmp.Or(failed, within("command", fmt.Sprintf("argument %d", n), word, of))
	}
	for _, list := range []struct {
		member string
		lines  []string
	}{{"preflights", j.Preflights}, {"agenda_preflights", j.AgendaPreflights},
		{"agenda_postflights", j.AgendaPostflights}} {
		for _, line := range list.lines {
			failed = cmp.Or(failed, within(list.member, fmt.Sprintf("%q", problem.Clip(line)), line, values.inShell()))
		}
	}
	for _, file := range j.Validate {
		path := units.ParseOutput(file).Path
		failed = cmp.Or(failed, checkLongPath(path, values["QB_FRAME_"+facts.TokenNumber]))
	}
	return failed
}

// checkProcess refuses a command and an environment that are too much together.
func checkProcess(j *facts.JobFacts, values tokens) error {
	size, of := values[allNumbers], values
	if j.Shell && values != nil {
		of = values.inShell()
	}
	for _, word := range j.Command {
		size += len(word) + of.grown(word) + api.ProcessWord
	}
	for name, value := range j.Env {
		size += len(name) + len("=") + len(value) + api.ProcessWord
	}
	if size > api.MaxProcess {
		return problem.Invalid("command",
			"command and environment take %d bytes together, with %d more for each word and the numbers of an item; a process can have %d beside what qb adds; put the data into a file, or submit fewer variables",
			size, api.ProcessWord, api.MaxProcess)
	}
	return nil
}
