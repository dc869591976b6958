package pgcluster

import (
	"os"
	"path/filepath"
	"testing"

	"qb/internal/statedir"
)

// Whether a server found no room is tried, not read in its log.
func TestTryRoom(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if err := fill(full); !statedir.Full(err) {
		t.Errorf("a full device: %v", err)
	}
	dir := t.TempDir()
	if err := tryRoom(dir); statedir.Full(err) {
		t.Errorf("a folder with room: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
