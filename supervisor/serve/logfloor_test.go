package serve

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/internal/statedir"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/logstore"
	"qb/supervisor/wire/settings"
)

const smallDisk = 32 << 20

// TestLogsOnASmallDisk: on a disk of 32 MB, of which a quarter is to stay free, logs go of the job first that ended
// first, no more of them than must, and what they took is free again; that of what runs stays, however long. As root
// the disk is a real one; else a folder's files are taken off its size.
func TestLogsOnASmallDisk(t *testing.T) {
	dir := openDir(t)
	room := statedir.Room
	if unix.Mount("qb-test", dir, "tmpfs", 0, "size=32m,mode=755") == nil {
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // the folder's removal tells if it stays
	} else {
		room = roomBeside
	}
	free := func() int64 {
		free, total, err := room(dir)
		if err != nil || total != smallDisk {
			t.Fatalf("the disk has %d bytes: %v", total, err)
		}
		return free >> 20
	}
	b, now := newStore(t), time.Now()
	livePast(t, b, now.Add(-9*settings.Day), pastJob("ada", "", "1-2"))
	livePast(t, b, now.Add(-5*settings.Day), pastJob("ada", "", "1-2"))
	livePast(t, b, now.Add(-2*settings.Day), pastJob("ada", "", "1-2"))
	r, d := agingRig(t, b, func(o *Options) { o.room = room }, func(c *settings.Config) { c.LogPath = dir })
	c, worker := r.client("boss", api.Admin), r.agent("h1", 1)
	must[api.ActionReply](t, c, api.OrderJob, params("job", 1, "action", "redo"), nil) // the oldest one runs again
	worker.until("an item runs again", func() bool { return len(worker.running) == 1 })
	logOf := func(job facts.JobID, number int) string {
		return filepath.Join(dir, logstore.Name(facts.AttemptID{Job: job, Item: 0, Number: number}))
	}
	events := r.follow()
	live, older, younger := logOf(1, 2), logOf(2, 1), logOf(3, 1)
	grow(t, live, 4)
	grow(t, older, 9)
	grow(t, younger, 9)
	if left := free(); left < 8 || left > 10 {
		t.Fatalf("%d MB are free", left)
	}
	d.put(func(c *settings.Config) { c.LogMinFree = 1 << 30 }, nil) // of so small a disk a quarter
	must[api.RereadReply](t, c, api.Reread, nil, nil)

	grow(t, live, 4)
	eventually(t, "the job that ended first has no log", func() bool { return !there(older) })
	wantEvent(t, events, "logs-removed-early")
	eventually(t, "it is told", func() bool { return strings.Contains(r.log.String(), "now 15 MiB are free") })
	if left := free(); left < 14 || !there(younger) || !there(live) {
		t.Errorf("%d MB are free; of the job that ended last there is one: %v, of what runs: %v", left, there(younger),
			there(live))
	}
	grow(t, live, 8)
	eventually(t, "nor has the other", func() bool { return !there(younger) })
	eventually(t, "the room is back", func() bool { return free() >= 15 })
	grow(t, live, 11)
	eventually(t, "nothing is left to remove", func() bool {
		return strings.Contains(r.log.String(), "no logs of finished jobs are left")
	})
	if size := sizeOf(t, live); size != 27<<20 {
		t.Errorf("the log of what runs has %d bytes", size)
	}
	if m := r.metrics(); !strings.Contains(m, "\nqb_logs_removed_early_jobs_total 2\n") {
		t.Errorf("metrics: %s", m)
	}
	if resp := r.raw("GET", "/v1/jobs/2/items/1/log",
		r.token("boss", api.Admin), "", nil); !strings.Contains(text(t, resp), "was removed on") {
		t.Error("who asks for the older one's is not told")
	}
}

// grow writes as many megabytes more.
func grow(t *testing.T, file string, megabytes int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range megabytes {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
}

func sizeOf(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// roomBeside is what the files below a folder leave of a small disk.
func roomBeside(folder string) (free, total int64, err error) {
	free = smallDisk
	err = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // removed meanwhile
		}
		if info, err := e.Info(); err == nil {
			free -= info.Size()
		}
		return nil
	})
	return free, smallDisk, err
}
