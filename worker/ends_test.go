package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"qb/api"
	"qb/worker/core"
)

func recordOf(n int) api.EndRecord {
	return api.EndRecord{Attempt: attempt(1, n), Boot: "boot", Started: float64(n), Ended: float64(n) + 1, Outcome: "exit"}
}

func itemsIn(t *testing.T, l *endLog) (items []int, clocks int) {
	t.Helper()
	if err := l.read(func(line endLine) bool {
		if line.End != nil {
			items = append(items, line.End.Attempt.Item)
		} else if line.Clock != nil {
			clocks++
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return items, clocks
}

// TestEndLogIsKeptOverRestartsAndTornLines: another agent goes on in a file of its own behind a torn line.
func TestEndLogIsKeptOverRestartsAndTornLines(t *testing.T) {
	l := &endLog{dir: t.TempDir()}
	l.check("boot", time.Second, 3*time.Second, time.Unix(1000, 0))
	l.check("boot", 4*time.Second, 4*time.Second+2*time.Millisecond, time.Unix(1002, 0))
	if l.checked.Error != 0.001 || l.checked.At != 4.001 {
		t.Errorf("the better check does not count: %+v", l.checked)
	}
	for n := range 3 {
		if err := l.add(recordOf(n)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(l.path(1), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, `{"end":{"attempt":{"job":1,`)
	file.Close()
	next := &endLog{dir: l.dir}
	if err := next.add(recordOf(3)); err != nil {
		t.Fatal(err)
	}
	if items, clocks := itemsIn(t, next); fmt.Sprint(items) != "[0 1 2 3]" || clocks != 1 {
		t.Errorf("items %v, %d clock checks", items, clocks)
	}
}

// TestEndLogMakesItsFolder: somebody removed it.
func TestEndLogMakesItsFolder(t *testing.T) {
	l := &endLog{dir: filepath.Join(t.TempDir(), "ends")}
	if items, _ := itemsIn(t, l); items != nil {
		t.Errorf("without a folder the log has items %v", items)
	}
	if err := l.add(recordOf(1)); err != nil {
		t.Fatal(err)
	}
	if items, _ := itemsIn(t, l); fmt.Sprint(items) != "[1]" {
		t.Errorf("items %v", items)
	}
}

// TestEndLogIsBounded in number, bytes and age.
func TestEndLogIsBounded(t *testing.T) {
	l := &endLog{dir: t.TempDir()}
	for n := range endFiles + 10 {
		if err := l.add(recordOf(n)); err != nil {
			t.Fatal(err)
		}
		l.size = endFileSize
	}
	numbers, err := l.numbers()
	if err != nil || len(numbers) > endFiles {
		t.Errorf("%d files, %v", len(numbers), err)
	}
	old := time.Now().Add(-endsKept - time.Minute)
	for _, n := range numbers[:5] {
		if err := os.Chtimes(l.path(n), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.add(recordOf(99)); err != nil {
		t.Fatal(err)
	}
	items, _ := itemsIn(t, l)
	if len(items) > endFiles-4 || items[len(items)-1] != 99 {
		t.Errorf("items %v", items)
	}
}

// TestEndsAreShippedToAnAudit: what was acknowledged, what waits in the spool, and what runs, in bounded pages.
func TestEndsAreShippedToAnAudit(t *testing.T) {
	f := newScriptedFarm(t)
	f.shellJob(1, `exit 3`)
	f.shellJob(2, `echo up; sleep 300`)
	config := testConfig(t, f)
	if err := makeFolders(config.State); err != nil {
		t.Fatal(err)
	}
	before := &endLog{dir: filepath.Join(config.State, "ends")} // of a former agent
	before.check("former", time.Second, time.Second, time.Unix(1000, 0))
	for n := range 2 * endsPageSize {
		if err := before.add(recordOf(n)); err != nil {
			t.Fatal(err)
		}
	}
	runAgent(t, config)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.want(core.Key{Job: 2, Instance: 0}, attempt(2, 0))
	f.awaitEnd(attempt(1, 0))
	f.awaitOutput(attempt(2, 0), "up")
	f.await("the record is acknowledged", func() bool { return len(f.last.Finished) == 0 })
	f.with(func() { f.askEnds = "A" })
	f.await("the last page", func() bool { return len(f.pages) > 0 && f.pages[len(f.pages)-1].Last })
	f.mu.Lock()
	defer f.mu.Unlock()
	outcomes := map[string]int{}
	for _, page := range f.pages {
		if len(page.Records)+len(page.Clocks) > endsPageSize || page.Host != "h1" || page.Audit != "A" || !page.Since.Equal(time.Unix(1000, 0)) {
			t.Errorf("a page of %d records and %d checks of %s for %s since %v", len(page.Records), len(page.Clocks), page.Host, page.Audit, page.Since)
		}
		for _, r := range page.Records {
			outcomes[r.Outcome]++
			switch {
			case r.Boot == "boot":
			case r.Started <= 0 || r.Ended < r.Started:
				t.Errorf("%+v", r)
			case r.Outcome == "exit" && *r.ExitCode != 3:
				t.Errorf("%+v", r)
			}
		}
	}
	if want := map[string]int{"exit": 2*endsPageSize + 1, api.OutcomeRunning: 1}; fmt.Sprint(outcomes) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", outcomes, want)
	}
}
