package logstore

import (
	"errors"
	"io"
	"os"
	"time"

	"qb/supervisor/job/facts"
)

// Tail reads a log while it grows, even before its file exists.
type Tail struct {
	Size  int64     // of what was read
	Grown time.Time // when the last byte came

	store *Store
	id    facts.AttemptID
	file  *os.File
}

// Tail begins to read the log of an attempt.
func (s *Store) Tail(id facts.AttemptID) *Tail { return &Tail{Grown: time.Now(), store: s, id: id} }

// Read is what has come since the last call; 0 and no error if nothing has.
func (t *Tail) Read(buf []byte) (int, error) {
	if t.file == nil {
		f, err := t.store.Read(t.id)
		if f == nil || err != nil {
			return 0, err
		}
		t.file = f
	}
	n, err := t.file.Read(buf)
	if n > 0 {
		t.Size += int64(n)
		t.Grown = time.Now()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Close lets go of the file.
func (t *Tail) Close() {
	if t.file != nil {
		_ = t.file.Close() // only read
	}
}
