package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"sync"
	"unicode/utf8"
)

const xmlHead = xml.Header

// elementName is what a member's name must be like to be the name of an element, which are fewer than XML has.
var elementName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
})

// writeXML writes a JSON object on a line, as an element <object> with an element per member in their order. A list has
// elements <item>, null is an empty element, and a member whose name cannot be an element's is <member name="…">.
func writeXML(out io.Writer, object []byte) error {
	var b bytes.Buffer
	in := json.NewDecoder(bytes.NewReader(object))
	in.UseNumber()
	if err := writeElement(&b, in, "object"); err != nil {
		return fmt.Errorf("writing XML: %w", err)
	}
	b.WriteByte('\n')
	_, err := out.Write(b.Bytes())
	return err
}

// writeElement writes the next value as an element.
func writeElement(b *bytes.Buffer, in *json.Decoder, name string) error {
	token, err := in.Token()
	if err != nil {
		return err
	}
	end := name
	if !elementName().MatchString(name) {
		end = "member"
		b.WriteString(`<member name="`)
		writeText(b, name)
		b.WriteString(`">`)
	} else {
		b.WriteString("<" + name + ">")
	}
	switch token {
	case json.Delim('{'), json.Delim('['):
		for in.More() {
			inner := "item"
			if token == json.Delim('{') {
				key, err := in.Token()
				if err != nil {
					return err
				}
				inner = key.(string)
			}
			if err := writeElement(b, in, inner); err != nil {
				return err
			}
		}
		if _, err := in.Token(); err != nil {
			return err
		}
	case nil:
	default:
		writeText(b, fmt.Sprint(token))
	}
	b.WriteString("</" + end + ">")
	return nil
}

// writeText escapes a text, so that a reader of XML gets it back unchanged. Characters on which a terminal acts are
// written as references; a character that XML cannot hold becomes U+FFFD.
func writeText(b *bytes.Buffer, text string) {
	for _, r := range text {
		switch holds := r == '\n' || r == '\r' || r == '\t' || r >= ' ' && r != 0xFFFE && r != 0xFFFF; {
		case !unprintable(r):
			_ = xml.EscapeText(b, []byte(string(r))) // a buffer takes everything
		case !holds || r == utf8.RuneError:
			b.WriteRune(utf8.RuneError)
		default:
			fmt.Fprintf(b, "&#x%X;", r)
		}
	}
}
