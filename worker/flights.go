package worker

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"qb/pathmap"
	"qb/patterns"
	"qb/units"
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
func flights(item core.Item, order *shim.RunOrder, room *expansion) error {
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
	add(&order.Before, spec.Preflights, codePreflight, spec.Agenda)
	add(&order.Before, spec.AgendaPreflights, codeAgendaPreflight, false)
	for _, text := range spec.Validate {
		path, err := values.inArgument(text, room.most(0))
		failed = cmp.Or(failed, room.took("output file "+shown(text), path, 0, err))
		order.After = append(order.After, outputCheck(path))
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

// outputScript looks as the item's owner: the shim, which may be root, opens no path that an owner names.
const outputScript = `[ "$QB_FRAME_STATUS" = complete ] || exit 0
size=$(wc -c <"$1") || exit 1
[ "$size" -ge "$2" ] || { echo "qb: $1 has $size bytes, at least $2 are wanted" >&2; exit 1; }`

// outputAt is which word of an output check is the path.
const outputAt = 4

// outputCheck is the stage that fails if a file is missing or too small; text is PATH or PATH:SIZE.
func outputCheck(text string) shim.Stage {
	path, least := text, int64(1)
	if n := strings.LastIndexByte(text, ':'); n > 0 {
		if bytes, err := units.ParseSize(text[n+1:], 1); err == nil {
			path, least = text[:n], bytes
		}
	}
	return shim.Stage{Argv: []string{"/bin/sh", "-c", outputScript, "qb", outputAt: path, strconv.FormatInt(least, 10)}, Text: "output file " + shown(text) + " is missing or too small", Code: codeOutput}
}

// programFolder is where qb's programs lie, for QBDIR.
func programFolder() string {
	path, err := os.Executable()
	if err != nil {
		return "" // it is not known then
	}
	return filepath.Dir(path)
}

// pathEntries are those of worker_path_map, FROM=TO.
func (c Config) pathEntries() (entries []string) {
	for _, from := range slices.Sorted(maps.Keys(c.PathMap)) {
		entries = append(entries, from+"="+c.PathMap[from])
	}
	return entries
}

// translated is an item with its paths as they are on this host.
func (l *launcher) translated(item core.Item) (core.Item, error) {
	spec := &item.Spec
	entries := slices.Clone(spec.PathMap)
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
	text := func(what, text string, before int) string {
		if failed != nil {
			return ""
		}
		made, err := m.Text(text, room.most(before), &room.work)
		failed = room.took(what, made, before, err)
		return made
	}
	each := func(what string, texts []string) []string {
		mapped := make([]string, len(texts))
		for n := range texts {
			mapped[n] = text(fmt.Sprintf("%s %d", what, n), texts[n], 0)
		}
		return mapped
	}
	spec.Command, spec.Cwd, spec.Validate = each("argument", spec.Command), m.Path(spec.Cwd), each("output file", spec.Validate)
	spec.Preflights, spec.Postflights = each("preflight", spec.Preflights), each("postflight", spec.Postflights)
	spec.AgendaPreflights, spec.AgendaPostflights = each("preflight", spec.AgendaPreflights), each("postflight", spec.AgendaPostflights)
	env := make(map[string]string, len(spec.Env))
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		env[name] = text("the variable "+shown(name), spec.Env[name], len(name)+len("="))
	}
	spec.Env = env
	return item, failed
}
