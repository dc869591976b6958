package worker

import (
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
func flights(item core.Item, order *shim.RunOrder) {
	spec, values := item.Spec, itemTokens(item)
	order.Rules = patterns.Rules{Progress: patterns.Split(spec.RegexProgress), Errors: patterns.Split(spec.RegexErrors),
		Highlights: patterns.Split(spec.RegexHighlights), OutputPaths: patterns.Split(spec.RegexOutputPaths)}
	stage := func(text, code string, first bool) shim.Stage {
		return shim.Stage{Argv: []string{"/bin/sh", "-c", values.inShell(text)}, Text: text, Code: code, First: first}
	}
	for _, text := range spec.Preflights {
		order.Before = append(order.Before, stage(text, codePreflight, spec.Agenda))
	}
	for _, text := range spec.AgendaPreflights {
		order.Before = append(order.Before, stage(text, codeAgendaPreflight, false))
	}
	for _, text := range spec.Validate {
		order.After = append(order.After, outputCheck(values.inArgument(text)))
	}
	for _, text := range append(append([]string{}, spec.AgendaPostflights...), spec.Postflights...) {
		order.After = append(order.After, stage(text, codePostflight, false))
	}
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
	return shim.Stage{Argv: []string{"/bin/sh", "-c", outputScript, "qb", outputAt: path, strconv.FormatInt(least, 10)}, Text: "output file " + text + " is missing or too small", Code: codeOutput}
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
	each := func(texts []string) []string {
		mapped := make([]string, len(texts))
		for n, text := range texts {
			mapped[n] = m.Text(text)
		}
		return mapped
	}
	spec.Command, spec.Cwd, spec.Validate = each(spec.Command), m.Path(spec.Cwd), each(spec.Validate)
	spec.Preflights, spec.Postflights = each(spec.Preflights), each(spec.Postflights)
	spec.AgendaPreflights, spec.AgendaPostflights = each(spec.AgendaPreflights), each(spec.AgendaPostflights)
	env := make(map[string]string, len(spec.Env))
	for name, value := range spec.Env {
		env[name] = m.Text(value)
	}
	spec.Env = env
	return item, nil
}
