package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
)

const xmlHead = xml.Header

// elementName is what a member's name must be like to be the name of an element, which are fewer than XML has.
var elementName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

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
	if !elementName.MatchString(name) {
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

// writeText writes a text; characters that a terminal acts on, and those that XML cannot hold, are escaped as in tables.
func writeText(b *bytes.Buffer, text string) {
	_ = xml.EscapeText(b, []byte(Escape(text))) // a buffer takes everything
}
