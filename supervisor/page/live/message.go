package live

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"sync"
)

// Message is a server-sent event, encoded once for all readers.
type Message struct {
	Plain  []byte
	packed func() []byte
}

// Head begins a compressed stream, which goes on with the packed messages. It has no end: a stream is cut off.
var Head = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255} // gzip, of no known time and system

// newMessage makes an event of text that has no line feed.
func newMessage(event string, data []byte) *Message {
	m := &Message{Plain: fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event, data)}
	m.packed = sync.OnceValue(func() []byte { return pack(m.Plain) })
	return m
}

// NewMessage makes an event of a value.
func NewMessage(event string, value any) *Message {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encoding %T: %v", value, err)) // numbers, texts and maps of these always encode
	}
	return newMessage(event, data)
}

// Packed is the message as a piece of a compressed stream. It refers to nothing before it, so that every reader can
// have it.
func (m *Message) Packed() []byte { return m.packed() }

func pack(text []byte) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.DefaultCompression) // a level that there is
	_, _ = w.Write(text)                                    // a buffer takes all
	_ = w.Flush()
	return out.Bytes()
}
