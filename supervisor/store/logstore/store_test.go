package logstore

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/supervisor/job/facts"
)

func framed(stream byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{stream}, uint32(len(text))), text...)
}

// TestLogProtocol: whatever pieces come, doubled, early or late, the log is the worker's.
func TestLogProtocol(t *testing.T) {
	logs, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	id := facts.AttemptID{Job: 1234, Item: 7, Number: 2}
	steps := []struct {
		offset int64
		data   string
		size   int64
	}{
		{0, "abc", 3}, {0, "abc", 3}, {3, "def", 6}, {2, "cdefgh", 8}, {20, "early", 8}, {0, "abcdefghij", 10}, {4, "ef", 10},
		{10, "", 10},
	}
	for n, s := range steps {
		if size, err := logs.Append(id, s.offset, []byte(s.data), false); err != nil || size != s.size {
			t.Errorf("step %d: size %d, want %d (%v)", n, size, s.size, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(logs.Path, "1000", "1234", "7.2.log"))
	if err != nil || string(data) != "abcdefghij" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if !logs.Partial(id) {
		t.Error("complete without a last chunk")
	}
	if _, err := logs.Append(id, 10, nil, true); err != nil || logs.Partial(id) {
		t.Errorf("not complete after the last chunk, %v", err)
	}
}

// TestLogCap: beyond the limit bytes are dropped and the worker goes on.
func TestLogCap(t *testing.T) {
	logs, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	id := facts.AttemptID{Job: 1, Number: 1}
	if _, err := logs.Append(id, 0, []byte("x"), false); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(logs.Path, Name(id))
	if err := os.Truncate(file, MaxLog-2); err != nil { // sparse: no disk is filled
		t.Fatal(err)
	}
	for n, want := range []int64{MaxLog + 2, MaxLog + 6} {
		if size, err := logs.Append(id, MaxLog-2+int64(4*n), []byte("abcd"), false); err != nil || size != want {
			t.Errorf("chunk %d: size %d, want %d (%v)", n, size, want, err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Size() != MaxLog {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

// TestLogsStayInside: a link in the log folder leads nowhere.
func TestLogsStayInside(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(folder, "0")); err != nil {
		t.Fatal(err)
	}
	logs, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	if _, err := logs.Append(facts.AttemptID{Job: 5, Number: 1}, 0, []byte("x"), false); err == nil {
		t.Error("a link out of the folder was followed")
	}
	if left, _ := os.ReadDir(outside); len(left) != 0 {
		t.Errorf("outside lies %v", left)
	}
}

// TestAttackSwappedFolder: who may write in the folder of logs, and swaps a job's folder with a link out of it while
// logs are written and read, gets nothing written and nothing read outside.
func TestAttackSwappedFolder(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	const secret = "canary"
	id := facts.AttemptID{Job: 5, Item: 1, Number: 1}
	if err := os.WriteFile(filepath.Join(outside, "1.1.log"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	logs, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	if _, err := logs.Append(id, 0, framed(1, "x"), false); err != nil {
		t.Fatal(err)
	}
	place, link := filepath.Join(folder, "0", "5"), filepath.Join(folder, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	over, swaps := time.Now().Add(2*time.Second), 0
	swapped := make(chan error, 1)
	go func() {
		var err error
		for ; time.Now().Before(over) && err == nil; swaps++ {
			err = unix.Renameat2(unix.AT_FDCWD, place, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
		}
		swapped <- err
	}()
	var through, stopped int
	for n := 0; time.Now().Before(over); n++ {
		other := facts.AttemptID{Job: 5, Item: facts.ItemNo(n % 50), Number: 2}
		if _, err := logs.Append(other, 0, framed(1, "x"), n%2 == 0); err != nil {
			stopped++
		} else {
			through++
		}
		if f, err := logs.Read(id); err == nil && f != nil {
			if text, _ := io.ReadAll(f); strings.Contains(string(text), secret) {
				t.Error("a file outside is read")
			}
			f.Close()
		}
	}
	if err := <-swapped; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d swaps, %d logs written, %d stopped", swaps, through, stopped)
	if left, _ := os.ReadDir(outside); len(left) != 1 {
		t.Errorf("outside lies %v", left)
	}
	if text, _ := os.ReadFile(filepath.Join(outside, "1.1.log")); string(text) != secret {
		t.Errorf("the file outside is now %q", text)
	}
}

func TestDemux(t *testing.T) {
	whole := append(append(append(framed(1, "one "), framed(2, "ERR ")...), framed(1, "")...), framed(1, "two")...)
	for cut := 1; cut <= len(whole); cut++ {
		for _, c := range []struct {
			want byte
			skip int64
			text string
		}{{StreamBoth, 0, "one ERR two"}, {StreamOut, 0, "one two"}, {StreamErr, 0, "ERR "}, {StreamOut, 5, "wo"},
			{StreamBoth, 4, "ERR two"}, {StreamErr, 9, ""}} {
			d := Demux{Want: c.want, Skip: c.skip}
			var out []byte
			for rest := whole; len(rest) > 0; {
				n := min(cut, len(rest))
				var err error
				if out, err = d.Feed(out, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if string(out) != c.text {
				t.Errorf("cut at %d, stream %d from %d: %q, want %q", cut, c.want, c.skip, out, c.text)
			}
		}
	}
	d := Demux{}
	if _, err := d.Feed(nil, []byte("this is no log")); err == nil {
		t.Error("garbage passed for a frame")
	}
}

// TestSessionLogs: logs of sessions are found by instance, counted for their job, and go with its logs.
func TestSessionLogs(t *testing.T) {
	logs, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	first := facts.AttemptID{Job: 7, Item: 3, Number: 2}
	later := facts.AttemptID{Job: 7, Item: 1, Number: 1}
	for n, id := range []facts.AttemptID{first, later} {
		if _, err := logs.AppendSession(id, 11, 0, framed(1, "between"), true); err != nil {
			t.Fatal(err)
		}
		name, at := fmt.Sprintf("0/7/sessions/%d.%d.11.log", id.Item, id.Number), time.Unix(int64(1000+n), 0)
		if err := os.Chtimes(filepath.Join(logs.Path, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := logs.AppendSession(first, 1, 0, framed(1, "x"), false); err != nil {
		t.Fatal(err)
	}
	want := []string{"0/7/sessions/3.2.11.log", "0/7/sessions/1.1.11.log"}
	if names, err := logs.Sessions(7, 11); err != nil || !slices.Equal(names, want) {
		t.Errorf("%v (%v), want %v", names, err, want)
	}
	if names, err := logs.Sessions(8, 0); err != nil || len(names) != 0 {
		t.Errorf("a job without sessions has %v (%v)", names, err)
	}
	if sizes, err := logs.Sizes(); err != nil || sizes[7] != 2*12+6 {
		t.Errorf("sizes are %v (%v)", sizes, err)
	}
	if _, number, err := logs.Numbers(100, 100); err != nil || number != 2 {
		t.Errorf("the highest attempt is %d (%v)", number, err)
	}
	if last, err := logs.Last(7, 3); err != nil || last != 0 {
		t.Errorf("the last log of item 3 is of attempt %d (%v)", last, err)
	}
	remove := map[string]func() error{
		"RemoveSessions": func() error { return logs.RemoveSessions(7) },
		"RemoveSome":     func() error { _, err := logs.RemoveSome(7, 9); return err },
	}
	for name, remove := range remove {
		if _, err := logs.AppendSession(first, 1, 0, framed(1, "x"), false); err != nil {
			t.Fatal(err)
		}
		if err := remove(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(logs.Path); err != nil || len(left) != 0 {
			t.Errorf("%s leaves %v (%v)", name, left, err)
		}
	}
}

// TestManyLogs: a job's logs go in steps, whole or only those of attempts that have ended.
func TestManyLogs(t *testing.T) {
	logs, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var ids []facts.AttemptID
	for n := range 25 {
		id := facts.AttemptID{Job: 7, Item: facts.ItemNo(n % 12), Number: n/12 + 1}
		if _, err := logs.Append(id, 0, []byte("x"), true); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	for item, want := range map[facts.ItemNo]int{0: 3, 1: 2, 11: 2, 12: 0} {
		if last, err := logs.Last(7, item); err != nil || last != want {
			t.Errorf("the last log of item %d is of attempt %d, want %d (%v)", item, last, want, err)
		}
	}
	for n, want := range []int{10, 0} {
		if files, err := logs.Remove(ids[:10]); err != nil || files != want {
			t.Errorf("removal %d: %d files, want %d (%v)", n, files, want, err)
		}
	}
	for n, want := range []int{10, 5, 0} {
		if files, err := logs.RemoveSome(7, 10); err != nil || files != want {
			t.Errorf("step %d: %d files, want %d (%v)", n, files, want, err)
		}
	}
	if left, err := os.ReadDir(logs.Path); err != nil || len(left) != 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
}
