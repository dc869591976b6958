package supervisor

import (
	"encoding/binary"
	"errors"
)

// Streams of a frame.
const (
	streamOut  = 1
	streamErr  = 2
	frameHead  = 5
	frameMost  = 16 << 20
	streamBoth = 0
)

var errBrokenLog = errors.New("the log is broken here: a frame is neither stdout nor stderr")

// demux takes a log's bytes as they come, in pieces cut anywhere, and keeps those of the stream wanted
// from an offset of that stream on.
type demux struct {
	want   byte  // streamOut, streamErr or streamBoth
	skip   int64 // bytes of the wanted stream still to be left out
	head   [frameHead]byte
	filled int   // bytes of head
	left   int64 // bytes of the frame that are still to come
}

// feed appends to out what is wanted of p.
func (d *demux) feed(out, p []byte) ([]byte, error) {
	for len(p) > 0 {
		if d.left == 0 {
			n := copy(d.head[d.filled:], p)
			d.filled, p = d.filled+n, p[n:]
			if d.filled < frameHead {
				return out, nil
			}
			d.filled, d.left = 0, int64(binary.LittleEndian.Uint32(d.head[1:]))
			if (d.head[0] != streamOut && d.head[0] != streamErr) || d.left > frameMost {
				return out, errBrokenLog
			}
			continue
		}
		n := min(d.left, int64(len(p)))
		part := p[:n]
		d.left, p = d.left-n, p[n:]
		if d.want != streamBoth && d.want != d.head[0] {
			continue
		}
		if skipped := min(d.skip, n); skipped > 0 {
			d.skip -= skipped
			part = part[skipped:]
		}
		out = append(out, part...)
	}
	return out, nil
}
