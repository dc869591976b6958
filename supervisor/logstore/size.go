package logstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"qb/supervisor/facts"
)

// Size is how many bytes of a stream the log of an attempt has; 0 if there is no log. It reads all of the log.
func (s *Store) Size(id facts.AttemptID, want byte) (total int64, err error) {
	f, err := s.Read(id)
	if f == nil || err != nil {
		return 0, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 256<<10)
	for {
		var head [frameHead]byte
		if _, err = io.ReadFull(in, head[:]); err != nil {
			break
		}
		length := int(binary.LittleEndian.Uint32(head[1:]))
		if head[0] != StreamOut && head[0] != StreamErr || length > FrameMost {
			return total, nil // broken here, as Demux finds as well
		}
		n, failed := in.Discard(length)
		if want == StreamBoth || want == head[0] {
			total += int64(n)
		}
		if err = failed; err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return total, nil // a log that grows may end within a piece
	}
	return total, fmt.Errorf("measuring a log: %w", err)
}
