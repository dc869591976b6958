package pgcluster

import (
	"os"
	"path/filepath"
	"testing"
)

// A log on a disk of its own, full, is what stops the server: that disk is named and waited for.
func TestTightestIsTheFullerDisk(t *testing.T) {
	data, log := t.TempDir(), "/sys" // a file system without any room
	if err := os.Symlink(log, filepath.Join(data, "pg_wal")); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{layout: &layout{data: data}}
	if folder, free := c.tightest(); folder != filepath.Join(data, "pg_wal") || free != 0 {
		t.Errorf("%s has the least room, %d bytes", folder, free)
	}
	if err := os.Remove(filepath.Join(data, "pg_wal")); err != nil {
		t.Fatal(err)
	}
	if folder, free := c.tightest(); folder != data || free == 0 {
		t.Errorf("without a log, %s has the least room, %d bytes", folder, free)
	}
}
