package pgcluster

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"qb/internal/pause"
	"qb/internal/statedir"
	"qb/internal/units"
)

// A server without disk space for its write-ahead log ends itself, and cannot start again until there is some. The
// cause is the disk, so such exits do not count as crashes.
const (
	roomToStart = 48 << 20 // bytes; a checkpoint and two segments of the log
	roomPoll    = time.Second
	roomAnyway  = 30 * time.Second // a quota is not seen as a full disk: it is tried anyway
	roomSay     = time.Minute
)

// full says whether a server that ended has no room to start again. Its own words do not decide: Postgres has no code
// for an exhausted quota, and its log may have found no room either.
func (c *Cluster) full(err error) bool {
	if statedir.Full(err) {
		return true
	}
	_, free := c.tightest()
	return free < roomToStart || statedir.Full(tryRoom(c.data))
}

// tryRoom writes as much as a server needs, for statfs does not show a user's quota.
func tryRoom(dir string) error {
	file, err := os.CreateTemp(dir, "room-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	return fill(file)
}

func fill(file *os.File) error {
	block := make([]byte, 1<<20)
	for range roomToStart / len(block) {
		if _, err := file.Write(block); err != nil {
			return err
		}
	}
	return file.Sync()
}

// tightest is the folder of the server with the least room; its log may lie on a disk of its own.
func (c *Cluster) tightest() (folder string, free int64) {
	folder, free = c.data, math.MaxInt64
	for _, dir := range []string{c.data, filepath.Join(c.data, "pg_wal")} {
		if room, _, err := statedir.Room(dir); err == nil && room < free {
			folder, free = dir, room
		}
	}
	return folder, free
}

// awaitRoom waits until a server may find room to start; false: Stop was called.
func (c *Cluster) awaitRoom() bool {
	folder, _ := c.tightest()
	text := fmt.Sprintf(
		"the disk of the private Postgres is full: free %s under %s, and all goes on by itself; what runs goes on",
		units.Size(roomToStart), folder)
	c.trouble.Store(&text)
	var said time.Time
	for began := time.Now(); ; {
		if time.Since(said) > roomSay {
			said = time.Now()
			c.log.Error(text)
		}
		if pause.For(c.life, roomPoll) != nil {
			return false
		}
		if _, free := c.tightest(); free >= roomToStart || time.Since(began) > roomAnyway {
			return true
		}
	}
}

// Trouble says why there is no server now, for want of room; "" if there is one, or another reason.
func (c *Cluster) Trouble() string {
	if text := c.trouble.Load(); text != nil {
		return *text
	}
	return ""
}
