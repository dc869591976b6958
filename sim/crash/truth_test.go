package crash

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qb/supervisor/job/facts"
)

// crashItem is the command of each item. It writes when it runs, by the time since boot, into a file that
// qb knows nothing of: one line is one write. Its output tells the same, under its own name. The manner says
// what else it does: fork and hide leave a child that writes on until it is killed, hide one without its
// parent's environment; stubborn does not heed TERM; fail fails at the first attempt; orphan kills its parent, the shim, at
// the first two.
const crashItem = `#!/bin/sh
say() {
	read up rest < /proc/uptime
	echo "$1 $QBJOBID $QB_ITEM $QB_ATTEMPT $QB_HOST $$ $up" >> "$truth/$QB_HOST"
	echo "$1 $QBJOBID.$QB_ITEM.$QB_ATTEMPT"
}
truth=$1 ticks=$2 manner=$3
say start
child="${truth%/*}/child.sh $truth/$QB_HOST $QBJOBID $QB_ITEM $QB_ATTEMPT $QB_HOST"
case $manner in
fork) (setsid sh $child > /dev/null 2>&1 &) ;;
hide) (setsid env -i sh $child > /dev/null 2>&1 &) ;;
stubborn) trap '' TERM ;;
esac
while [ $ticks -gt 0 ]; do
	sleep 0.2
	say tick
	ticks=$((ticks - 1))
	if [ $manner = orphan ] && [ $QB_ATTEMPT -le 2 ]; then kill -9 $PPID; fi
done
if [ $manner = fail ] && [ $QB_ATTEMPT = 1 ]; then
	say fail
	exit 3
fi
say end
`

// crashChild is what some items leave behind: it has left its session and its parents, and never ends.
const crashChild = `#!/bin/sh
PATH=/usr/bin:/bin
while :; do
	read up rest < /proc/uptime
	echo "child $2 $3 $4 $5 $$ $up" >> "$1"
	sleep 0.3
done
`

// crashRun is an attempt as it wrote itself down.
type crashRun struct {
	id          facts.AttemptID
	host        string
	pid         int
	first, last float64 // seconds since boot, by the process and what it left behind
	began, over float64 // by the process alone
	starts      int
	ends        int
	fails       int
}

// readTruth reads what all items wrote.
func readTruth(dir string) (map[facts.AttemptID]*crashRun, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return nil, err
	}
	runs := map[facts.AttemptID]*crashRun{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if err := addTruth(runs, line); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", name, line, err)
			}
		}
	}
	return runs, nil
}

func addTruth(runs map[facts.AttemptID]*crashRun, line string) error {
	var kind, host string
	var id facts.AttemptID
	var pid int
	var at float64
	if strings.HasPrefix(line, "child ") { // it may be the first that is heard of an attempt
		return addChild(runs, line)
	}
	if _, err := fmt.Sscan(line, &kind, &id.Job, &id.Item, &id.Number, &host, &pid, &at); err != nil {
		return err
	}
	run := runOf(runs, id, host, at)
	if run.pid == 0 {
		run.pid, run.began = pid, at
	}
	run.over = at
	switch kind {
	case "start":
		run.starts++
	case "end":
		run.ends++
	case "fail":
		run.fails++
	}
	if run.pid != pid || run.host != host {
		return fmt.Errorf("the attempt runs as process %d on %s and as %d on %s", run.pid, run.host, pid, host)
	}
	return nil
}

func addChild(runs map[facts.AttemptID]*crashRun, line string) error {
	var kind, host string
	var id facts.AttemptID
	var pid int
	var at float64
	_, err := fmt.Sscan(line, &kind, &id.Job, &id.Item, &id.Number, &host, &pid, &at)
	if err == nil {
		runOf(runs, id, host, at)
	}
	return err
}

// runOf is the attempt, which ran at that moment.
func runOf(runs map[facts.AttemptID]*crashRun, id facts.AttemptID, host string, at float64) *crashRun {
	run := runs[id]
	if run == nil {
		run = &crashRun{id: id, host: host, first: at, last: at}
		runs[id] = run
	}
	run.first, run.last = min(run.first, at), max(run.last, at)
	return run
}

// uptimeStep is the resolution of /proc/uptime.
const uptimeStep = 0.011

// overlaps names attempts of one item that wrote at the same time, one between two lines of the other: an
// attempt that was frozen when the next began, and wrote again, is found so too.
func overlaps(runs map[facts.AttemptID]*crashRun) (found []string) {
	sorted := make([]*crashRun, 0, len(runs))
	for _, r := range runs {
		sorted = append(sorted, r)
	}
	slices.SortFunc(sorted, func(a, b *crashRun) int {
		return cmp.Or(cmp.Compare(a.id.Job, b.id.Job), cmp.Compare(a.id.Item, b.id.Item), cmp.Compare(a.first, b.first))
	})
	for i, r := range sorted {
		if r.starts != 1 || r.ends+r.fails > 1 {
			found = append(found, fmt.Sprintf("%v started %d times and ended %d times", r.id, r.starts, r.ends+r.fails))
		}
		for _, later := range sorted[i+1:] {
			if later.id.Job != r.id.Job || later.id.Item != r.id.Item {
				break
			}
			if later.first+uptimeStep < r.last {
				found = append(found, fmt.Sprintf("%v on %s ran from %.2f to %.2f, and %v on %s from %.2f to %.2f",
					r.id, r.host, r.first, r.last, later.id, later.host, later.first, later.last))
			}
		}
	}
	return found
}
