// Package limitwriter keeps the first bytes of what others write.
package limitwriter

// Buffer keeps at most Most bytes of what is written to it and drops the rest, so that a program that writes without
// end neither fills memory nor waits. Its zero value keeps nothing. It is for one goroutine. It embeds no bytes.Buffer:
// io.Copy would use the ReadFrom of that, which knows no limit.
type Buffer struct {
	Most int
	Over bool // something was dropped
	kept []byte
}

// Write keeps what there is room for and never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	fits := min(len(p), b.Most-len(b.kept))
	b.kept, b.Over = append(b.kept, p[:fits]...), b.Over || fits < len(p)
	return len(p), nil
}

// Bytes is what was kept.
func (b *Buffer) Bytes() []byte { return b.kept }
