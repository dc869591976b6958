package shim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLimitOfASessionsLog: programs that follow one another in a session share one log and its limit, however much each
// of them writes and however often one ends.
func TestLimitOfASessionsLog(t *testing.T) {
	t.Parallel()
	const limit, programs, pieces = 64 << 10, 20, 30
	path := filepath.Join(t.TempDir(), "log")
	shared, err := newPumping()
	if err != nil {
		t.Fatal(err)
	}
	for range programs {
		log := newSessionLog(path, limit, shared)
		for range pieces {
			log.take(StreamOut, copy(shared.buffer[HeaderSize:], strings.Repeat("x", 9999)+"\n"))
		}
		log.close()
		NoteInSession(path, limit, "it ended")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if most := limit + noteRoom*programs; len(data) > most || len(data) < limit/2 {
		t.Errorf("the log has %d bytes, want at most %d", len(data), most)
	}
	if text := string(data); !strings.Contains(text, ": it ended]\n") || !strings.Contains(text, "bytes of the log are missing here") {
		t.Error("the log does not say that a program ended, or what is missing")
	}
	before := len(data)
	if err := os.Truncate(path, limit); err != nil {
		t.Fatal(err)
	}
	NoteInSession(path, limit, "once more")
	if data, err = os.ReadFile(path); err != nil || len(data) != limit {
		t.Errorf("a full log of %d bytes has %d after another end (%v)", before, len(data), err)
	}
}
