package shim

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// TestTail: whatever is written, the tail is the end of it, stream by stream, within its size; and it counts what it lacks.
func TestTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tl := tail{most: rapid.IntRange(64, 4000).Draw(t, "most")}
		var streams []byte
		var all []byte
		for n := range rapid.IntRange(0, 60).Draw(t, "pieces") {
			stream := byte(rapid.IntRange(StreamOut, StreamErr).Draw(t, "stream"))
			data := bytes.Repeat([]byte{byte('a' + n%26)}, rapid.IntRange(1, 300).Draw(t, "length"))
			if rapid.Bool().Draw(t, "line") {
				data[len(data)-1] = '\n'
			}
			tl.add(stream, data)
			all, streams = append(all, data...), append(streams, bytes.Repeat([]byte{stream}, len(data))...)
			if cap(tl.kept) > 4*(tl.most+HeaderSize+pumpBuffer) {
				t.Fatalf("%d bytes for a tail of %d", cap(tl.kept), tl.most)
			}
		}
		tl.trim()
		if len(tl.kept)-tl.start > tl.most {
			t.Fatalf("%d bytes of %d", len(tl.kept)-tl.start, tl.most)
		}
		at := int(tl.dropped)
		for rest := tl.kept[tl.start:]; len(rest) > 0; {
			n := int(binary.LittleEndian.Uint32(rest[1:]))
			if !bytes.Equal(rest[HeaderSize:HeaderSize+n], all[at:at+n]) || n > 0 && (streams[at] != rest[0] || streams[at+n-1] != rest[0]) {
				t.Fatalf("another text at %d", at)
			}
			at, rest = at+n, rest[HeaderSize+n:]
		}
		if at != len(all) {
			t.Fatalf("it ends at %d of %d", at, len(all))
		}
	})
}
