package logstore

import (
	"encoding/binary"
	"errors"
)

// Streams of a frame.
const (
	StreamOut  = 1
	StreamErr  = 2
	frameHead  = 5
	FrameMost  = 16 << 20
	StreamBoth = 0
)

var errBrokenLog = errors.New("the log is broken here: a frame is neither stdout nor stderr")

// Demux takes a log's bytes as they come, in pieces cut anywhere, and keeps those of the stream wanted
// from an offset of that stream on.
type Demux struct {
	Want   byte  // StreamOut, StreamErr or StreamBoth
	Skip   int64 // bytes of the wanted stream still to be left out
	head   [frameHead]byte
	filled int   // bytes of head
	left   int64 // bytes of the frame that are still to come
}

// Feed appends to out what is wanted of p.
func (d *Demux) Feed(out, p []byte) ([]byte, error) {
	for len(p) > 0 {
		if d.left == 0 {
			n := copy(d.head[d.filled:], p)
			d.filled, p = d.filled+n, p[n:]
			if d.filled < frameHead {
				return out, nil
			}
			d.filled, d.left = 0, int64(binary.LittleEndian.Uint32(d.head[1:]))
			if (d.head[0] != StreamOut && d.head[0] != StreamErr) || d.left > FrameMost {
				return out, errBrokenLog
			}
			continue
		}
		n := min(d.left, int64(len(p)))
		part := p[:n]
		d.left, p = d.left-n, p[n:]
		if d.Want != StreamBoth && d.Want != d.head[0] {
			continue
		}
		if skipped := min(d.Skip, n); skipped > 0 {
			d.Skip -= skipped
			part = part[skipped:]
		}
		out = append(out, part...)
	}
	return out, nil
}
