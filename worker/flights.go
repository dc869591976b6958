package worker

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"qb/internal/pathmap"
	"qb/internal/patterns"
	"qb/worker/core"
	"qb/worker/shim"
)

// Codes of ends, as facts.Reason names them.
const (
	codePreflight       = "preflight_failed"
	codeAgendaPreflight = "agenda_preflight_failed"
	codePostflight      = "postflight_failed"
	codeOutput          = "output_missing"
)

// flights are the stages before and after an item's command: its job's checks, and the look for its files.
func flights(item core.Item, now time.Time, order *shim.RunCommand, room *expansion) error {
	spec, values := item.Spec, itemTokens(item)
	order.Rules = patterns.Rules{Progress: patterns.Split(spec.RegexProgress), Errors: patterns.Split(spec.RegexErrors),
		Highlights: patterns.Split(spec.RegexHighlights), OutputPaths: patterns.Split(spec.RegexOutputPaths)}
	failed := error(nil)
	add := func(to *[]shim.Stage, texts []string, code string, first bool) {
		for _, text := range texts {
			line, err := values.inShell(text, room.most(0))
			failed = cmp.Or(failed, room.took(shown(text), line, 0, err))
			*to = append(*to, shim.Stage{Argv: []string{"/bin/sh", "-c", line}, Text: shown(text), Code: code, First: first})
		}
	}
	add(&order.Before, spec.Preflights, codePreflight, spec.Agenda || spec.LoadOnce)
	add(&order.Before, spec.AgendaPreflights, codeAgendaPreflight, false)
	for _, text := range spec.Validate {
		stages, err := outputChecks(item, text, now, room)
		failed = cmp.Or(failed, err)
		order.After = append(order.After, stages...)
	}
	add(&order.After, spec.AgendaPostflights, codePostflight, false)
	add(&order.After, spec.Postflights, codePostflight, false)
	return failed
}

// mostShown is how much of a command or a path the reason of an end shows, in bytes.
const mostShown = 400

func shown(text string) string {
	if len(text) <= mostShown {
		return text
	}
	return strings.ToValidUTF8(text[:mostShown], "") + " …"
}

// programFolder is where qb's programs lie, for QBDIR.
func programFolder() string {
	path, err := os.Executable()
	if err != nil {
		return "" // it is not known then
	}
	return filepath.Dir(path)
}

// mapping maps the paths of a text.
type mapping = func(text string, most int, left *pathmap.Budget) (string, error)

// translated is an item with its paths as they are on this host.
func (l *launcher) translated(item core.Item) (core.Item, error) {
	spec := &item.Spec
	entries := pathmap.ForHost(false, spec.PathMap)
	if spec.ConvertPath {
		entries = pathmap.Over(entries, l.paths)
	}
	if len(entries) == 0 {
		return item, nil
	}
	m, err := pathmap.New(entries)
	if err != nil {
		return item, fmt.Errorf("the paths of the job cannot be mapped: %w", err)
	}
	room, failed := newExpansion(), error(nil)
	text := func(what, text string, before int, mapped mapping) string {
		if failed != nil {
			return ""
		}
		made, err := mapped(text, room.most(before), &room.work)
		failed = room.took(what, made, before, err)
		return made
	}
	each := func(what string, texts []string, kind func(int) mapping) []string {
		made := make([]string, len(texts))
		for n := range texts {
			made[n] = text(fmt.Sprintf("%s %d", what, n), texts[n], 0, kind(n))
		}
		return made
	}
	line := func(int) mapping { return m.Line }
	word := func(n int) mapping {
		if spec.Shell || shellLine(spec.Command, n) {
			return m.Line
		}
		return m.Word
	}
	if spec.Cwd, err = m.Path(spec.Cwd); err == nil {
		spec.Validate, err = mapOutputs(&m, spec.Validate)
	}
	if err != nil {
		return item, err
	}
	spec.Command = each("argument", spec.Command, word)
	spec.Preflights, spec.Postflights = each("preflight", spec.Preflights, line),
		each("postflight", spec.Postflights, line)
	spec.AgendaPreflights, spec.AgendaPostflights = each("preflight", spec.AgendaPreflights, line),
		each("postflight", spec.AgendaPostflights, line)
	env := make(map[string]string, len(spec.Env))
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		env[name] = text("the variable "+shown(name), spec.Env[name], len(name)+len("="), m.Word)
	}
	spec.Env = env
	return item, failed
}

// shellLine says whether a word of a command is a line for the shell that the command is.
func shellLine(command []string, n int) bool {
	return n == 2 && strings.HasPrefix(command[1], "-") && strings.HasSuffix(command[1], "c") &&
		slices.Contains([]string{"sh", "bash", "dash", "ksh", "zsh"}, filepath.Base(command[0]))
}
