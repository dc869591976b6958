package crash

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/api"
	"qb/supervisor/job/facts"
)

// crashProc is a process of an item.
type crashProc struct {
	pid  int
	id   facts.AttemptID
	host string

	loaded bool // it is a program of a load-once job, or of one
}

// itemProcesses finds the processes of this rig's items: what has their environment, and the children that
// gave it up and have the same on their command line.
func (r *crashRig) itemProcesses() (found []crashProc) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		words := commandLine(pid)
		p := crashProc{pid: pid}
		if len(words) > 6 && words[1] == r.path("child.sh") {
			if _, err := fmt.Sscan(strings.Join(words[3:6], " "), &p.id.Job, &p.id.Item, &p.id.Number); err == nil {
				p.host, p.loaded = words[6], len(words) > 7 && words[7] == loadedWord
				found = append(found, p)
			}
			continue
		}
		data, _ := os.ReadFile(name)
		if p.read(data, r.marks) {
			if isLoaded(words) {
				p.loaded = true
				r.holdsNow(&p)
			}
			found = append(found, p)
		}
	}
	return found
}

// read takes an item's environment; the supervisors' addresses in it are those of one rig only.
func (p *crashProc) read(environ []byte, marks map[string]bool) bool {
	value := map[string]string{}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		name, text, _ := strings.Cut(string(entry), "=")
		value[name] = text
	}
	if !marks[value["QB_SUPERVISOR"]] {
		return false
	}
	p.host, p.loaded = value["QB_HOST"], value[loadedMark] != ""
	_, err := fmt.Sscan(value["QBJOBID"]+" "+value["QB_ITEM"]+" "+value["QB_ATTEMPT"], &p.id.Job, &p.id.Item, &p.id.Number)
	return err == nil
}

// watchEnds looks again and again that nothing is left of an attempt whose end its worker has reported. An
// attempt that counts as lost may still be there, frozen. A program of a load-once job is there after what it reported.
func (r *crashRig) watchEnds(ctx context.Context) (looks int) {
	for sleep(ctx, time.Second) == nil {
		ended, err := r.toldEnds(ctx)
		if err != nil {
			continue // Postgres is among what breaks
		}
		looks++
		for _, p := range r.itemProcesses() {
			state, ok := ended[p.id]
			if p.loaded && (state == "done" || state == "superseded") {
				continue // its program goes on
			}
			if ok {
				r.t.Errorf("process %d of %v is there, and its row says %s: %q", p.pid, p.id, state, commandLine(p.pid))
			}
		}
	}
	return looks
}

func (r *crashRig) toldEnds(ctx context.Context) (map[facts.AttemptID]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, r.database)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, `SELECT job, item, number, state FROM attempt
		WHERE state NOT IN ('running', 'stopping', 'lost') AND ended_at > now() - interval '2 minutes'`)
	if err != nil {
		return nil, err
	}
	ended := map[facts.AttemptID]string{}
	var id facts.AttemptID
	var state string
	_, err = pgx.ForEachRow(rows, []any{&id.Job, &id.Item, &id.Number, &state}, func() error {
		ended[id] = state
		return nil
	})
	return ended, err
}

// crashLevel is what a process holds.
type crashLevel struct{ files, threads, goroutines int }

// levels are what the supervisors and the agents hold now.
func (r *crashRig) levels() map[string]crashLevel {
	found := map[string]crashLevel{}
	for i, p := range append(r.supervisors[:], r.agents...) {
		pid := strconv.Itoa(p.cmd.Process.Pid)
		files, _ := os.ReadDir(filepath.Join("/proc", pid, "fd"))
		threads, _ := os.ReadDir(filepath.Join("/proc", pid, "task"))
		l := crashLevel{files: len(files), threads: len(threads)}
		if i < len(r.supervisors) {
			l.goroutines = r.goroutines(i)
		}
		found[p.name] = l
	}
	return found
}

func (r *crashRig) goroutines(supervisor int) (n int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	resp, err := r.clients[supervisor].Open(ctx, api.Metrics, nil, nil, nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		return 0
	}
	for line := range strings.Lines(text.String()) {
		if rest, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			n, _ = strconv.Atoi(strings.TrimSpace(rest))
		}
	}
	return n
}

// Slack of checkLevels: connections that are idle and not closed yet, and the connections of the database's
// pool, of which a farm at rest has fewer.
const (
	crashMoreFiles      = 24
	crashMoreGoroutines = 60
	crashMoreThreads    = 24 // the runtime never gives a thread back
)

// checkLevels wants files, threads and goroutines to have gone back to about where they began, and nothing to be
// left on the hosts' disks.
func (r *crashRig) checkLevels(before map[string]crashLevel) {
	after := map[string]crashLevel{}
	r.until("files and goroutines are given back", func() bool {
		after = r.levels()
		for name, l := range after {
			b := before[name]
			if l.files > b.files+crashMoreFiles || l.goroutines > b.goroutines+crashMoreGoroutines || l.threads > b.threads+crashMoreThreads {
				return false
			}
		}
		return true
	})
	for _, name := range sortedNames(after) {
		r.t.Logf("%s: files, threads, goroutines %v, at the start %v", name, after[name], before[name])
	}
	for _, kind := range []string{"i", "log", "spool"} {
		r.until("nothing is left in the folders "+kind, func() bool {
			left, err := filepath.Glob(r.path("a*", kind, "*"))
			return err == nil && len(left) == 0
		})
	}
}
