package worker

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/internal/pathmap"
	"qb/internal/units"
	"qb/worker/core"
	"qb/worker/shim"
)

// outputScript looks as the item's owner: the shim, which may be root, looks at no path that an owner names. It opens
// nothing, as a pipe may wait for ever and a device may do something. Its exit status is which of the files is at
// fault, from 1.
const outputScript = `[ "$QB_FRAME_STATUS" = complete ] || exit 0
least=$1 since=$2 n=0
shift 2
for path; do
	n=$((n + 1))
	case $path in /*) ;; *) path=./$path ;; esac
	[ -f "$path" ] || { echo "qb: $path is missing, or no regular file" >&2; exit $n; }
	size=$(stat -L -c %s -- "$path") || exit $n
	[ "$size" -ge "$least" ] || { echo "qb: $path has $size bytes, at least $least are wanted" >&2; exit $n; }
	[ "$since" -gt 0 ] || continue
	at=$(stat -L -c %Y -- "$path") || exit $n
	[ "$at" -ge "$since" ] || {
		echo "qb: $path was written $((since - at)) s before this attempt could (or the clocks of its file server and this host differ)" >&2
		exit $n
	}
done`

const (
	outputsAt   = 6   // which word of an output check is the first path
	outputsEach = 100 // files of one check: more than these, an exit status has no room for
	// that the clock of a file server may be behind this host's, by which files count as new
	outputsClock = 5 * time.Second
	outputsLimit = time.Minute // for one check: a file system that does not answer must not keep the item
)

// outputChecks are the stages that fail if a file is missing, too small or, of those with :new, older than the attempt,
// which begins now. One with a NUMBER token is a file for each number of the item.
func outputChecks(item core.Item, text string, now time.Time, room *expansion) ([]shim.Stage, error) {
	of := units.ParseOutput(text)
	paths, err := outputPaths(item, of.Path, room)
	if err != nil {
		return nil, err
	}
	since, fault := int64(0), shim.FaultMissing
	if of.New {
		since, fault = now.Add(-outputsClock).Unix(), "is missing, too small or older than the attempt"
	}
	var stages []shim.Stage
	for from := 0; from < len(paths); from += outputsEach {
		some := paths[from:min(from+outputsEach, len(paths))]
		what := shown(some[0])
		if len(some) > 1 {
			what += fmt.Sprintf(" or one of %d more", len(some)-1)
		}
		stages = append(stages, shim.Stage{
			Argv: append([]string{"/bin/sh", "-c", outputScript, "qb", strconv.FormatInt(of.Least, 10),
				strconv.FormatInt(since, 10)}, some...),
			Files: outputsAt, Fault: fault, Limit: outputsLimit, Text: "output file " + what + " " + fault, Code: codeOutput,
		})
	}
	return stages, nil
}

// mapOutputs maps the paths of output files.
func mapOutputs(m *pathmap.Map, texts []string) ([]string, error) {
	mapped := make([]string, len(texts))
	for n, text := range texts {
		path := units.ParseOutput(text).Path
		made, err := m.Path(path)
		if err != nil {
			return nil, err
		}
		mapped[n] = made + text[len(path):]
	}
	return mapped, nil
}

// outputPaths is the files that a path with tokens names.
func outputPaths(item core.Item, text string, room *expansion) (paths []string, err error) {
	numbers := []string{item.Desired.Start}
	if item.Spec.Agenda && strings.Contains(text, "FRAME_NUMBER") {
		if numbers, err = itemNumbers(item); err != nil {
			return nil, fmt.Errorf("output file %s: %w", shown(text), err)
		}
	}
	for _, number := range numbers {
		path, err := itemTokens(item).with(number).inArgument(text, room.most(0))
		if err := room.took("output file "+shown(text), path, 0, err); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// itemNumbers are the numbers and labels of an item, padded.
func itemNumbers(item core.Item) (numbers []string, err error) {
	d := item.Desired
	if d.End == "" || d.Start == d.End {
		return []string{d.Start}, nil
	}
	a, err := agenda.Parse(agenda.Spec{Range: d.Name, Padding: item.Spec.Padding}, api.MaxOutputs)
	if many := (*agenda.LimitError)(nil); errors.As(err, &many) {
		return nil, fmt.Errorf("the item has %s numbers, and at most %s files of an item are looked for",
			agenda.Grouped(many.Count), agenda.Grouped(many.Limit))
	}
	if err != nil {
		return nil, err
	}
	for n := range a.Len() {
		numbers = append(numbers, a.Item(n).Start)
	}
	return numbers, nil
}
