package translate

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"qb/agenda"
	"qb/api"
	"qb/internal/units"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
)

// CheckText refuses what Postgres or a process cannot hold. Control characters stay: clients show them
// escaped.
func CheckText(field, s string, most int) error {
	switch {
	case len(s) > most:
		return problem.Invalid(field, "%d bytes; at most %d", len(s), most)
	case !utf8.ValidString(s):
		return problem.Invalid(field, "%q is not valid UTF-8; send it in UTF-8", problem.Clip(s))
	case strings.ContainsRune(s, 0):
		return problem.Invalid(field, "%q holds a NUL character; leave it out", problem.Clip(s))
	}
	return nil
}

// CheckName refuses a name that is too long or that a row cannot hold.
func CheckName(field, s string) error { return checkRunes(field, s, facts.MaxName) }

func checkRunes(field, s string, most int) error {
	if n := utf8.RuneCountInString(s); n > most {
		return problem.Invalid(field, "%d characters; at most %d", n, most)
	}
	return CheckText(field, s, 4*most)
}

var userPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._@\\+-]{0,254}$`)
})

// CheckUser refuses what is no name of a user.
func CheckUser(user string) error {
	if !userPattern().MatchString(user) {
		return problem.Invalid(
			"user",
			"%q is no user name; use letters, digits and . _ - @ + only, at most 255",
			problem.Clip(user),
		)
	}
	return nil
}

func between(field string, n *int, least, most int) error {
	if n != nil && (*n < least || *n > most) {
		return problem.Invalid(field, "%d; use %d to %d", *n, least, most)
	}
	return nil
}

// Submission checks a submission and turns it into a job's facts. What the farm's policy decides (defaults,
// caps) is left to the farm.
func Submission(r *api.SubmitRequest, user, submission string) (facts.JobFacts, error) {
	if err := cmp.Or(CheckUser(user), checkCommand(r), checkTags(r.Tags)); err != nil {
		return facts.JobFacts{}, err
	}
	attributes, err := given(r)
	if err != nil {
		return facts.JobFacts{}, err
	}
	if r.Range != "" && len(r.Postflights) > 0 {
		return facts.JobFacts{}, problem.Invalid(
			"postflights",
			"the job has a range, and no item of it is known to be the last of its instance; give agenda_postflights, which run after each item",
		)
	}
	row := attributes.Values
	row.Submission = submission
	row.User = user
	row.Agenda = spec(attributes.Values)
	row.Agenda.Named = row.Agenda.Range != "" && row.NamesEnds()
	if row.Name == "" {
		row.Name = defaultName(r)
	}
	if row.Profile == "" {
		row.Profile = profiles.Name(defaultName(r), row.Name)
	}
	return row, nil
}

// Agenda checks what a submission says of its items, as Submission does, and leaves the rest aside.
func Agenda(r *api.SubmitRequest) (agenda.Spec, error) {
	attributes, err := given(&api.SubmitRequest{Range: r.Range, Chunk: r.Chunk, Partitions: r.Partitions, Order: r.Order,
		Padding: r.Padding})
	s := spec(attributes.Values)
	runs := facts.JobFacts{Command: r.Command, Env: r.Env, Preflights: r.Preflights, AgendaPreflights: r.AgendaPreflights,
		AgendaPostflights: r.AgendaPostflights}
	s.Named = s.Range != "" && runs.NamesEnds()
	return s, err
}

// spec is the agenda of a job that was submitted.
func spec(row facts.JobFacts) agenda.Spec {
	if row.Agenda.Order == "ascend" {
		row.Agenda.Order = agenda.Ascend
	}
	return row.Agenda
}

func checkTags(values map[string]string) error {
	if _, unknown := facts.TagsOf(values); len(unknown) > 0 {
		return problem.Invalid("tags", "there is no tag %q; use %s", problem.Clip(unknown[0]), units.Few(facts.TagNames[:]))
	}
	return nil
}

// defaultName is the program's name without its folder.
func defaultName(r *api.SubmitRequest) string {
	first := r.Command[0]
	if r.Shell {
		first = strings.Fields(first)[0]
	}
	name := []rune(first[strings.LastIndexByte(first, '/')+1:])
	return string(name[:min(len(name), facts.MaxName)])
}

func checkCommand(r *api.SubmitRequest) error {
	if len(r.Command) == 0 || strings.TrimSpace(r.Command[0]) == "" {
		return problem.Invalid("command", "it is empty; give a program and its arguments")
	}
	if r.Shell && len(r.Command) != 1 {
		return problem.Invalid("command", "%d words; with shell it is one line", len(r.Command))
	}
	if len(r.Command) > api.MaxArguments {
		return problem.Invalid("command", "%d arguments; at most %d", len(r.Command), api.MaxArguments)
	}
	total := 0
	for n, word := range r.Command {
		if total += len(word) + 1; total > api.MaxCommand {
			return problem.Invalid("command", "more than %d bytes; put the data into a file", api.MaxCommand)
		}
		if !utf8.ValidString(word) || strings.ContainsRune(word, 0) {
			return problem.Invalid("command", "argument %d holds a NUL character or is not valid UTF-8", n)
		}
	}
	return cmp.Or(checkWords(r), checkWritten(r))
}

// checkWords refuses what no process can have, on no host.
func checkWords(r *api.SubmitRequest) error {
	if !r.Shell {
		if err := checkPath("command", r.Command[0]); err != nil {
			return err
		}
	}
	for n, word := range r.Command {
		if len(word) > api.MaxWord {
			return problem.Invalid("command",
				"argument %d has %d bytes; no process can have one of more than %d; put the data into a file", n, len(word),
				api.MaxWord)
		}
	}
	for name, value := range r.Env {
		if size := len(name) + len("=") + len(value); size > api.MaxWord {
			return problem.Invalid("env",
				"%q has %d bytes with its value; no process can have a variable of more than %d; put the data into a file",
				problem.Clip(name), size, api.MaxWord)
		}
	}
	return nil
}

// checkWritten refuses what is so much longer in JSON that no message to a shim would have room for it.
func checkWritten(r *api.SubmitRequest) error {
	total := 0
	for _, word := range r.Command {
		total += api.JSONSize(word)
	}
	for name, value := range r.Env {
		total += api.JSONSize(name) + api.JSONSize(value)
	}
	if total > api.MaxSpec {
		return problem.Invalid("command",
			"command and env take %d bytes in JSON, where a control character takes 6; at most %d; put the data into a file",
			total, api.MaxSpec)
	}
	return nil
}

// checkEnv never shows a value: it may be a secret.
func checkEnv(env map[string]string) error {
	if len(env) > api.MaxVariables {
		return problem.Invalid("env", "%d variables; at most %d", len(env), api.MaxVariables)
	}
	total := 0
	for name, value := range env {
		if total += len(name) + len(value) + 2; total > api.MaxEnv {
			return problem.Invalid("env", "more than %d bytes; submit fewer variables", api.MaxEnv)
		}
		if name == "" || strings.ContainsAny(name, "=\x00") || !utf8.ValidString(name) {
			return problem.Invalid("env", "%q is no name of a variable", problem.Clip(name))
		}
		if strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
			return problem.Invalid("env", "the value of %q holds a NUL character or is not valid UTF-8", problem.Clip(name))
		}
	}
	return nil
}

func checkFlags(flags []string) error {
	if len(flags) > 64 {
		return problem.Invalid("flags", "%d of them; at most 64", len(flags))
	}
	for _, f := range flags {
		if _, number := facts.FlagsOf(f); number || slices.Contains(facts.Flags, f) || slices.Contains(facts.PassedOver, f) {
			continue
		}
		meant := agenda.Nearest(f, facts.Flags)
		if meant != "" {
			meant = "; did you mean " + meant + "?"
		}
		return problem.Invalid("flags", "there is no flag %q%s; there are %s, and Qube's numbers from 0 to %d",
			problem.Clip(f), meant, units.Few(facts.Flags), facts.MostFlags)
	}
	return nil
}

// CheckElite refuses the flag elite, with which a job starts even on a full farm, to users who are not administrators.
func CheckElite(by api.Rights, row *facts.JobFacts) error {
	if !row.Elite() || by.Has(api.MayAdmin) {
		return nil
	}
	e := api.Errorf(api.KindForbidden,
		"flags: elite is for administrators; submit the job without it, or ask an administrator to submit it")
	e.Member = "flags"
	return e
}

func checkOrder(order string) error {
	if !slices.Contains([]string{"", "ascend", "reverse", "binary"}, order) {
		return problem.Invalid("order", "%q; use ascend, reverse or binary", problem.Clip(order))
	}
	return nil
}

// Modification checks a change of a job.
func Modification(id facts.JobID, r *api.ModifyRequest, by string, version int64) (message.JobModified, error) {
	e := message.JobModified{Job: id, By: by, IfVersion: version}
	if reflect.ValueOf(*r).IsZero() {
		return e, api.Errorf(api.KindInvalid,
			"nothing to change: give a member such as name, priority, cpus, max_cpus, cluster, hosts, requirements or retrywork")
	}
	if r.Cluster != nil && *r.Cluster == "" {
		return e, problem.Invalid("cluster", "it is empty; write a path such as /")
	}
	if err := checkTags(r.Tags); err != nil {
		return e, err
	}
	var err error
	e.Change, err = given(r)
	if e.Change.Has("pgrp") && e.Change.Values.PGrp == 0 {
		e.Change.Values.PGrp = id
	}
	return e, err
}
