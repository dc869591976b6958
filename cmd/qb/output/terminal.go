package output

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
)

// TerminalFilter writes an item's output to a terminal. The program that made the output must not move the cursor, set
// the title, fill the clipboard or turn the direction of text: only text, line ends, tabs and colours pass. Bytes that
// are no UTF-8 become U+FFFD.
type TerminalFilter struct {
	out      io.Writer
	colours  bool
	coloured bool // a colour has passed; the end resets it
	state    filterState
	sequence []byte // a control sequence so far, or the beginning of a character
	clean    []byte
}

// NewTerminalFilter filters for a terminal, on which Close must be called.
func NewTerminalFilter(out io.Writer) *TerminalFilter {
	return &TerminalFilter{out: out, colours: colourWanted()}
}

type filterState int

const (
	inText      filterState = iota
	inEscape                // behind ESC
	inCSI                   // behind ESC [
	inString                // behind ESC ] and the like, until BEL or ESC \
	atStringEnd             // behind an ESC in such a string
)

// maxSequence bounds a control sequence; what is longer is none that a terminal heeds.
const maxSequence = 64

// Write takes all of p. Sequences and characters may be spread over several calls.
func (f *TerminalFilter) Write(p []byte) (int, error) {
	f.clean = f.clean[:0]
	for _, b := range p {
		f.take(b)
	}
	if len(f.clean) > 0 {
		if _, err := f.out.Write(f.clean); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Close writes what is left and gives the terminal its own colours again.
func (f *TerminalFilter) Close() error {
	f.clean = f.clean[:0]
	if f.state == inText && len(f.sequence) > 0 {
		f.clean = append(f.clean, string(utf8.RuneError)...)
	}
	f.toText()
	if f.coloured {
		f.clean = append(f.clean, "\x1b[0m"...)
	}
	_, err := f.out.Write(f.clean)
	return err
}

func (f *TerminalFilter) toText() { f.state, f.sequence = inText, f.sequence[:0] }

func (f *TerminalFilter) take(b byte) {
	switch {
	case b == '\n' && f.state != inText: // nothing hides a line
		f.toText()
		f.clean = append(f.clean, b)
	case f.state == inText:
		f.takeText(b)
	case f.state == inEscape:
		f.takeEscape(b)
	case f.state == inCSI:
		f.takeCSI(b)
	case f.state == atStringEnd && b == '\\', b == 0x07:
		f.toText()
	case b == 0x1b:
		f.state = atStringEnd
	default:
		f.state = inString
	}
}

func (f *TerminalFilter) takeEscape(b byte) {
	switch {
	case b == '[':
		f.state = inCSI
	case strings.IndexByte("]PX^_", b) >= 0:
		f.state = inString
	case b < 0x20 || b > 0x2f || len(f.sequence) > maxSequence: // else there is more of it
		f.toText()
	default:
		f.sequence = append(f.sequence, b)
	}
}

func (f *TerminalFilter) takeCSI(b byte) {
	switch {
	case b == 0x1b:
		f.toText()
		f.state = inEscape
	case b >= 0x20 && b < 0x40 && len(f.sequence) < maxSequence:
		f.sequence = append(f.sequence, b)
	case b == 'm' && f.colours && !strings.ContainsFunc(string(f.sequence), notInColour):
		f.clean = append(append(append(f.clean, "\x1b["...), f.sequence...), 'm')
		f.coloured = true
		f.toText()
	default:
		f.toText()
	}
}

func notInColour(r rune) bool { return (r < '0' || r > '9') && r != ';' && r != ':' }

func (f *TerminalFilter) takeText(b byte) {
	if len(f.sequence) > 0 && (b < 0x80 || utf8.RuneStart(b)) { // the character before is not whole
		f.clean = append(f.clean, string(utf8.RuneError)...)
		f.sequence = f.sequence[:0]
	}
	switch {
	case b == 0x1b:
		f.state = inEscape
	case b == 0x7f || b < 0x20 && b != '\n' && b != '\t' && b != '\r':
	case b < 0x80:
		f.clean = append(f.clean, b)
	default:
		if f.sequence = append(f.sequence, b); utf8.FullRune(f.sequence) {
			if r, _ := utf8.DecodeRune(f.sequence); !commands(r) {
				f.clean = utf8.AppendRune(f.clean, r)
			}
			f.sequence = f.sequence[:0]
		}
	}
}

// commands says whether a character does something else than show itself. U+FFFD shows itself.
func commands(r rune) bool { return r >= 0x7f && r != utf8.RuneError && !unicode.IsPrint(r) }

// EscapeJSON writes the characters of JSON that a terminal would act on, or that turn the direction of text, as \u
// sequences: the same value to any program that reads it, and no command to a terminal. The encoder has escaped those
// below a blank.
func EscapeJSON(text string) string {
	if !strings.ContainsFunc(text, commands) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !commands(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// IsTerminal says whether a person watches what is written.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
