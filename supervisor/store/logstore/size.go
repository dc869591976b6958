package logstore

import (
	"errors"
	"fmt"
	"io"

	"qb/supervisor/job/facts"
)

// Size is how many bytes of a stream the log of an attempt has, as far as it is not broken; 0 if there is no log. It
// reads all of the log.
func (s *Store) Size(id facts.AttemptID, want byte) (int64, error) {
	f, err := s.Read(id)
	if f == nil || err != nil {
		return 0, err
	}
	defer f.Close()
	sum := counter{demux: Demux{Want: want}}
	if _, err := io.Copy(&sum, f); err != nil && !errors.Is(err, errBrokenLog) {
		return 0, fmt.Errorf("measuring a log: %w", err)
	}
	return sum.bytes, nil
}

// counter counts what its demux keeps of a log.
type counter struct {
	demux Demux
	kept  []byte
	bytes int64
}

func (c *counter) Write(p []byte) (_ int, err error) {
	c.kept, err = c.demux.Feed(c.kept[:0], p)
	c.bytes += int64(len(c.kept))
	return len(p), err
}
