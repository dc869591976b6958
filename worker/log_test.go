package worker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/shim"
)

func TestLogKeepsTheCommonOrder(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	seen := t.TempDir() // the item writes the next line when the last one was read, for two pipes have no common order
	f.job(1, "sh", "-c", `for i in 1 2 3; do
		echo out $i; until [ -e "$0/out $i" ]; do sleep 0.01; done
		echo err $i >&2; until [ -e "$0/err $i" ]; do sleep 0.01; done; done`, seen)
	runAgent(t, testConfig(t, f))
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	var want strings.Builder
	for i := range 6 {
		line := fmt.Sprintf("%s %d", []string{"out", "err"}[i%2], i/2+1)
		want.WriteString(line + "\n")
		f.awaitOutput(attempt(1, 0), line)
		os.WriteFile(filepath.Join(seen, line), nil, 0o600)
	}
	f.awaitEnd(attempt(1, 0))
	if got := f.output(attempt(1, 0), 0); got != want.String() {
		t.Errorf("log = %q", got)
	}
}

func TestLogIsReadableWhileTheItemRuns(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	gate := filepath.Join(t.TempDir(), "gate")
	f.job(1, "sh", "-c", `echo early; while [ ! -e "$0" ]; do sleep 0.02; done; echo late`, gate)
	config := testConfig(t, f)
	runAgent(t, config)
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "early")
	if len(f.ends) > 0 {
		t.Error("it ended early")
	}
	os.WriteFile(gate, nil, 0o600)
	f.awaitEnd(attempt(1, 0))
	if out := f.output(attempt(1, 0), shim.StreamOut); out != "early\nlate\n" {
		t.Errorf("log = %q", out)
	}
	f.await("the file's removal", func() bool {
		entries, _ := os.ReadDir(filepath.Join(config.State, "log"))
		return len(entries) == 0
	})
}

func TestBigLogArrivesWhole(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, `i=0; while [ $i -lt 40 ]; do head -c 131072 /dev/zero | tr '\0' a; i=$((i+1)); done; head -c 1000000 /dev/zero >&2`)
	runAgent(t, testConfig(t, f))
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitEnd(attempt(1, 0))
	if out := f.output(attempt(1, 0), shim.StreamOut); len(out) != 40*131072 || strings.Trim(out, "a") != "" {
		t.Errorf("%d bytes of stdout", len(out))
	}
	if errs := f.output(attempt(1, 0), shim.StreamErr); len(errs) != 1000000 {
		t.Errorf("%d bytes of stderr", len(errs))
	}
}

// TestLogKeepsHeadAndTail: a log over its limit has the begin of the output and its end, and says how much is missing.
func TestLogKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, `seq 1000000; echo alive >&2; exit 4`) // 6,888,896 bytes
	f.shellJob(2, `seq 20000; echo alive >&2`)           // within the limit
	f.shellJob(3, `seq 380000; echo alive >&2`)          // 2,548,901 bytes, of which the last are in the tail
	config := testConfig(t, f)
	config.LogLimit = 3 << 20
	runAgent(t, config)
	for job, code := range map[int64]int{1: 4, 2: 0, 3: 0} {
		f.want(core.Key{Job: job, Instance: 0}, attempt(job, 0))
		if end := f.awaitEnd(attempt(job, 0)); end.Outcome != "exit" || *end.ExitCode != code {
			t.Errorf("end = %+v", end)
		}
	}
	for _, job := range []int64{2, 3} {
		if text := f.output(attempt(job, 0), 0); strings.Contains(text, "[qb") || !strings.HasPrefix(text, "1\n2\n") || !strings.HasSuffix(text, "0\nalive\n") {
			t.Errorf("a log of %d bytes, within the limit, has a line of qb's, or not all", len(text))
		}
	}
	text := f.output(attempt(1, 0), 0)
	head, rest, _ := strings.Cut(text, "\n[qb: the log reached its limit of 3 MiB (worker_log_limit); the end of the output follows when the item has ended]\n")
	line, end, found := strings.Cut(rest, "]\n")
	var missing int
	if n, _ := fmt.Sscanf(line, "[qb: %d bytes of the log are missing here (", &missing); n != 1 || !found {
		t.Fatalf("a log of %d bytes with %.200q", len(text), rest)
	}
	whole := 6888896 + len("alive\n")
	if len(head)+missing+len(end) != whole || len(end) < 1<<20 || len(head) < 1900<<10 || len(text) > 3<<20 {
		t.Errorf("%d + %d missing + %d of %d bytes", len(head), missing, len(end), whole)
	}
	if out, errs := f.output(attempt(1, 0), shim.StreamOut), "alive\n"; !strings.HasSuffix(end, "\n999999\n1000000\n"+errs) || !strings.HasSuffix(out, "\n1000000\n") || !strings.HasPrefix(head, "1\n2\n") {
		t.Errorf("the end is %q", end[max(0, len(end)-80):])
	}
	if first, _, _ := strings.Cut(end, "\n"); len(first) != 6 {
		t.Errorf("the end begins within a line: %q", first)
	}
}

// TestItemGoesOnWithoutItsLog: a disk that takes no more costs lines of a log, never an item that runs.
func TestItemGoesOnWithoutItsLog(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	f.shellJob(1, `echo something; echo more >&2; exit 3`)
	config := testConfig(t, f)
	runAgent(t, config)
	f.await("the first sync", func() bool { return f.syncs > 0 })
	full := filepath.Join(config.State, "log", shim.AttemptName(attempt(1, 0)))
	if err := os.Symlink("/dev/full", full); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(config.State, "log", shim.AttemptName(attempt(1, 1))), 0o700); err != nil {
		t.Fatal(err)
	}
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.want(core.Key{Job: 1, Instance: 1}, attempt(1, 1))
	end := f.awaitEnd(attempt(1, 0))
	if end.Outcome != "exit" || *end.ExitCode != 3 || end.Reason != "the item's log is not complete: 15 bytes of its output could not be written: no space left on device" {
		t.Errorf("on a full disk: %+v", end)
	}
	os.Remove(full)
	if end := f.awaitEnd(attempt(1, 1)); end.Outcome != "log" || !strings.Contains(end.Reason, "is a directory") {
		t.Errorf("without a file: %+v", end)
	}
}

// TestLogGoesOnWithRoomAgain: what a full disk did not take is missing from the log, which says so where it is.
func TestLogGoesOnWithRoomAgain(t *testing.T) {
	t.Parallel()
	f := newScriptedFarm(t)
	dir := t.TempDir()
	f.shellJob(1, fmt.Sprintf(`cd %s; echo first; while [ ! -e full ]; do sleep 0.02; done; head -c 100000 /dev/zero | tr '\0' a; echo; touch said
		while [ ! -e room ]; do sleep 0.02; done; echo last`, dir))
	config := testConfig(t, f)
	disk := filepath.Dir(config.State)
	if !smallDisk(t, disk) {
		t.Log("no disk can be mounted here, and the machine's own is not to be filled")
		return
	}
	config.DiskFloor = 16 << 10
	runAgent(t, config)
	id := attempt(1, 0)
	f.want(core.Key{Job: 1, Instance: 0}, id)
	f.awaitOutput(id, "first")
	fill := filepath.Join(disk, "fill")
	fillDisk(t, fill)
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch("full")
	f.await("it has written in vain", func() bool {
		_, err := os.Stat(filepath.Join(dir, "said"))
		return err == nil
	})
	os.Remove(fill)
	touch("room")
	end := f.awaitEnd(id)
	if end.Outcome != "exit" || *end.ExitCode != 0 || !strings.HasPrefix(end.Reason, "the item's log is not complete: ") {
		t.Errorf("end = %+v", end)
	}
	var missing, dropped int
	fmt.Sscanf(end.Reason, "the item's log is not complete: %d bytes", &missing)
	text := f.output(id, 0)
	for _, note := range strings.Split(text, "\n[qb: ")[1:] {
		var n int
		fmt.Sscanf(note, "%d bytes of the log were dropped", &n)
		dropped += n
	}
	if missing == 0 || dropped != missing || len(f.output(id, shim.StreamOut)) != len("first\nlast\n")+100001-missing || !strings.HasSuffix(text, "last\n") {
		t.Errorf("%d bytes are missing, the log says %d; %d bytes end %q", missing, dropped, len(text), text[max(0, len(text)-120):])
	}
}

func TestShippingResumesAtTheSupervisorsSize(t *testing.T) {
	t.Parallel()
	var log []byte
	for i := range 3000 {
		piece := bytes.Repeat([]byte{byte(i)}, 1000)
		log = append(log, 1, byte(len(piece)), byte(len(piece)>>8), 0, 0)
		log = append(log, piece...)
	}
	for _, held := range []int{0, 1, 1004, 1005, 1500, 1 << 20, len(log) - 1, len(log)} {
		id := api.AttemptID{Job: 1, Item: held, Number: 1}
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex // a log that is shipped before finish looks for it is done without a word from its goroutine
		server := bytes.Clone(log[:held])
		final := false
		send := func(c api.LogChunk) (int64, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(c.Data) > chunkSize {
				t.Errorf("a chunk of %d bytes", len(c.Data))
			}
			if at := int64(len(server)) - c.Offset; at >= 0 && at <= int64(len(c.Data)) {
				server = append(server, c.Data[at:]...)
				final = final || c.Final
			}
			return int64(len(server)), nil
		}
		ships := newShipper(t.Context(), discardLog, func(logID) string { return path }, ignoringContext(send))
		done := make(chan struct{})
		ships.finish(logID{AttemptID: id}, func() { close(done) })
		<-done
		mu.Lock()
		if !bytes.Equal(server, log) || !final {
			t.Errorf("held %d: %d of %d bytes, final %v", held, len(server), len(log), final)
		}
		mu.Unlock()
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("held %d: the file is still there", held)
		}
	}
}

// TestHungSendsHoldNobodyUp: as many sends hang as may go on at once, and more; the log of another attempt arrives.
func TestHungSendsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(id logID) string { return filepath.Join(dir, shim.AttemptName(id.AttemptID)) }
	const hung = 3 * shipsAtOnce
	begun := make(chan struct{}, hung)
	ships := newShipper(t.Context(), discardLog, path, func(ctx context.Context, c api.LogChunk) (int64, error) {
		if c.Attempt.Job == 1 {
			begun <- struct{}{}
			<-t.Context().Done()
			return 0, ctx.Err()
		}
		return c.Offset + int64(len(c.Data)), nil
	})
	finish := func(attempt api.AttemptID) chan struct{} {
		id := logID{AttemptID: attempt}
		os.WriteFile(path(id), []byte{1, 1, 0, 0, 0, 'x'}, 0o600)
		done := ships.follow(id).done
		ships.finish(id, func() {})
		return done
	}
	for n := range hung {
		finish(attempt(1, n))
	}
	for range hung {
		<-begun
	}
	select {
	case <-finish(attempt(2, 0)):
	case <-time.After(testPatience):
		t.Error("the log of another attempt waits for those that hang")
	}
}

func TestLogOfAnUnknownAttemptIsDropped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	os.WriteFile(path, []byte{1, 1, 0, 0, 0, 'x'}, 0o600)
	ships := newShipper(t.Context(), discardLog, func(logID) string { return path }, ignoringContext(func(api.LogChunk) (int64, error) {
		return 0, api.Errorf(api.KindNotFound, "no such attempt")
	}))
	done := make(chan struct{})
	ships.finish(logID{AttemptID: attempt(1, 1)}, func() { close(done) })
	<-done
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("the file is still there")
	}
}

// TestLogThatIsNeverTaken: a log that has ended and is refused each time is dropped after a while, a log that waits for
// its supervisor is not.
func TestLogThatIsNeverTaken(t *testing.T) {
	t.Parallel()
	for kind, dropped := range map[api.Kind]bool{
		api.KindInvalid: true, api.KindForbidden: true, api.KindConflict: true, api.KindUnavailable: false, api.KindLimit: false, api.KindUnauthorized: false, api.KindInternal: false,
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte{1, 1, 0, 0, 0, 'x'}, 0o600); err != nil {
			t.Fatal(err)
		}
		tries := make(chan struct{}, 100)
		ships := newShipper(t.Context(), discardLog, func(logID) string { return path }, ignoringContext(func(api.LogChunk) (int64, error) {
			tries <- struct{}{}
			return 0, api.Errorf(kind, "no")
		}))
		ships.hopelessAfter = 10 * time.Millisecond
		sh := ships.follow(logID{AttemptID: attempt(1, 1)})
		ships.finish(logID{AttemptID: attempt(1, 1)}, func() {})
		gone := false
		for n := 0; n < 3 && !gone; {
			select {
			case <-tries:
				n++
			case <-sh.done:
				gone = true
			case <-time.After(testPatience):
				t.Fatal("nothing is tried")
			}
		}
		if _, err := os.Stat(path); gone != dropped || (err != nil) != dropped {
			t.Errorf("%s: dropped %v, the file: %v", kind, gone, err)
		}
	}
}
