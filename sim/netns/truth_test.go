package netns

import (
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// item is the command of each item: it writes when it runs, by the time since boot, which all machines here have in
// common, into a file of the attempt that qb knows nothing of. Then it renders a picture, or waits.
const item = `#!/bin/sh
# item.sh TICKS [SCENE]
say() {
	read up rest < /proc/uptime
	echo "$1 $(hostname) $up" >> /srv/truth/$QBJOBID.$QB_ITEM.$QB_ATTEMPT
}
ticks=$1 scene=$2
say S
echo "item $QB_ITEM on $(hostname)"
if [ -n "$scene" ]; then
	name=/srv/pictures/$QBJOBID.$QB_ITEM.png
	cd /srv && povray -D +WT1 +W160 +H90 +K0.$QB_ITEM +I$scene +FN +O- > $name.$QB_ATTEMPT && mv $name.$QB_ATTEMPT $name || exit 1
fi
while [ $ticks -gt 0 ]; do
	sleep 0.2
	say T
	ticks=$((ticks - 1))
done
say E
`

// run is an attempt as it wrote itself down.
type run struct {
	of, host    string // JOB.ITEM
	first, last float64
	ended       bool
}

// runs reads what the items of a job wrote.
func (f *farm) runs(job string) (all []run) {
	f.t.Helper()
	files, err := filepath.Glob(f.shared("truth/" + job + ".*"))
	must(f.t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		must(f.t, err)
		one := run{of: strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))}
		for line := range strings.Lines(string(text)) {
			var word string
			var at float64
			if n, _ := fmt.Sscan(line, &word, &one.host, &at); n != 3 {
				continue // being written
			}
			if word == "S" {
				one.first = at
			}
			one.last, one.ended = at, word == "E"
		}
		all = append(all, one)
	}
	return all
}

// begun counts the attempts of a job that began on a machine after a time, by their own word.
func (f *farm) begun(job string, on *Machine, after float64) (n int) {
	for _, r := range f.runs(job) {
		if r.host == on.Name && r.first > after {
			n++
		}
	}
	return n
}

// ended counts a job's runs that wrote their end.
func (f *farm) ended(job string) (n int) {
	for _, r := range f.runs(job) {
		if r.ended {
			n++
		}
	}
	return n
}

func uptime(t *testing.T) (seconds float64) {
	t.Helper()
	text, err := os.ReadFile("/proc/uptime")
	must(t, err)
	_, err = fmt.Sscan(string(text), &seconds)
	must(t, err)
	return seconds
}

// checkTruth wants that each of a job's items ran to its end once, no two runs of an item overlapped, and the rows have
// exactly one attempt of each item that is done, on the host where it ran to its end.
func (f *farm) checkTruth(job string, items int) {
	f.t.Helper()
	ends, by := map[string]string{}, map[string][]run{}
	for _, r := range f.runs(job) {
		by[r.of] = append(by[r.of], r)
		if r.ended && ends[r.of] != "" {
			f.t.Errorf("item %s ran to its end on %s and on %s", r.of, ends[r.of], r.host)
		}
		if r.ended {
			ends[r.of] = r.host
		}
	}
	for of, all := range by {
		slices.SortFunc(all, func(a, b run) int { return int(1000 * (a.first - b.first)) })
		for i := range all[1:] {
			if all[i+1].first < all[i].last {
				f.t.Errorf("two runs of item %s at once: %+v", of, all)
			}
		}
	}
	if len(ends) != items {
		f.t.Errorf("%d items of job %s ran to their end, want %d", len(ends), job, items)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, f.databaseURL("qb", qbsPassword, "qb"))
	must(f.t, err)
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT job || '.' || item, host FROM attempt WHERE job = $1::text::bigint AND state = 'done'`, job)
	must(f.t, err)
	done := 0
	var of, host string
	_, err = pgx.ForEachRow(rows, []any{&of, &host}, func() error {
		if done++; ends[of] != host {
			f.t.Errorf("the row of item %s is done on %s, and it ran to its end on %q", of, host, ends[of])
		}
		return nil
	})
	must(f.t, err)
	if done != items {
		f.t.Errorf("%d attempts of job %s are done in the rows, want %d", done, job, items)
	}
}

// checkPictures wants whole pictures of a job.
func (f *farm) checkPictures(job string, items int) {
	f.t.Helper()
	files, err := filepath.Glob(f.shared("pictures/" + job + ".*.png"))
	must(f.t, err)
	if len(files) != items {
		f.t.Errorf("job %s has %d pictures, want %d", job, len(files), items)
	}
	for _, name := range files {
		file, err := os.Open(name)
		must(f.t, err)
		picture, err := png.Decode(file)
		_ = file.Close()
		if err != nil || picture.Bounds().Dx() != 160 {
			f.t.Errorf("%s: %v", name, err)
		}
	}
}

// leadsIn reads the answer of qbping -json.
func leadsIn(answer []byte) bool {
	var ping struct {
		Leader bool `json:"leader"`
	}
	return json.Unmarshal(answer, &ping) == nil && ping.Leader
}
