package patterns

// escape is a place in a sequence that tells a terminal something, such as a colour, and is no text.
type escape int

const (
	plain    escape = iota // in none
	escaped                // behind ESC
	control                // in a control sequence, such as ESC [ 31 m
	command                // in a string for the terminal, such as a title or a link, up to BEL or ESC \
	quitting               // in such a string, behind ESC
)

// next is the place behind a byte. A byte that cannot stand in the sequence ends it and is not taken.
func (e escape) next(b byte) (after escape, taken bool) {
	switch {
	case b == '\x1b' && e == command:
		return quitting, true
	case b == '\x1b':
		return escaped, true
	case e == command && b == '\a', e == quitting && b == '\\':
		return plain, true
	case e == command:
		return command, true
	case e == control && b >= 0x20 && b < 0x40:
		return control, true
	case e == control:
		return plain, b >= 0x40 && b < 0x7f
	case b == '[':
		return control, true
	case b == ']', b == 'P', b == 'X', b == '^', b == '_':
		return command, true
	case b >= 0x20 && b < 0x30:
		return escaped, true
	}
	return plain, b >= 0x30 && b < 0x7f
}

// Plain is text without the sequences that tell a terminal something.
func Plain(text string) string {
	kept, all := make([]byte, 0, len(text)), Text{}
	all.coding = bytewise
	all.Take = func(text []byte, _ int64) { kept = append(kept, text...) }
	all.Write([]byte(text))
	all.End()
	return string(kept)
}
