package session

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Message is what an action reports of itself by a line of its output.
type Message struct {
	Kind     MessageKind
	Text     string
	Progress float64
	name     string // of a variable
}

// MessageKind is the kind of a message.
type MessageKind string

// The kinds of messages. Variables are set and unset by the session itself.
const (
	Progress MessageKind = "progress" // 0 to 100
	Status   MessageKind = "status"
	Fail     MessageKind = "fail" // why the action fails

	setVariable    MessageKind = "env"
	secretVariable MessageKind = "redacted_env"
	unsetVariable  MessageKind = "unset_env"
)

// variableName is the form of a variable's name.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// parseMessage reads a line. It is no message without an error if the line is ordinary output. A line that is meant to
// change a variable and is not well formed is an error: the program would run on with another environment than it
// believes to have.
func parseMessage(line string) (m Message, found bool, err error) {
	rest, ours := strings.CutPrefix(line, "openjd_")
	kind, text, complete := strings.Cut(rest, ": ")
	if !ours || !complete {
		return m, false, malformed(line)
	}
	m = Message{Kind: MessageKind(kind), Text: text}
	switch m.Kind {
	case Progress:
		m.Progress, err = strconv.ParseFloat(text, 64)
		if err != nil || !(m.Progress >= 0 && m.Progress <= 100) {
			return m, false, nil
		}
	case Status, Fail:
	case setVariable, secretVariable:
		text = strings.TrimLeft(text, " \t")
		if strings.HasPrefix(text, `"`) {
			if err := json.Unmarshal([]byte(text), &text); err != nil {
				return m, false, fmt.Errorf("openjd_%s: what begins with a quotation mark must be a JSON string", kind)
			}
		}
		m.name, m.Text, complete = strings.Cut(text, "=")
		if !complete || !variableName().MatchString(m.name) || strings.Contains(m.Text, "\x00") {
			return m, false, fmt.Errorf("openjd_%s: write NAME=VALUE with a name of ASCII letters, digits and _", kind)
		}
	case unsetVariable:
		m.name = strings.TrimLeft(text, " \t")
		if !variableName().MatchString(m.name) {
			return m, false, fmt.Errorf("openjd_unset_env: write the name of a variable: ASCII letters, digits and _")
		}
	default:
		return m, false, malformed(line)
	}
	return m, true, nil
}

// malformed is an error for a line that nearly is a message about a variable.
func malformed(line string) error {
	lower := strings.ToLower(strings.TrimLeft(line, " \t"))
	for _, kind := range []MessageKind{setVariable, secretVariable, unsetVariable} {
		rest, found := strings.CutPrefix(lower, "openjd_"+string(kind))
		if found && (rest == "" || rest[0] == ':' || rest[0] == ' ') {
			return fmt.Errorf("the line is nearly openjd_%s: write the words in lower case, then a colon, a blank and the value", kind)
		}
	}
	return nil
}

const mask = "********"

// secrets are texts that must not be seen in output.
type secrets struct{ texts []string }

// add masks a value and each of its lines from now on.
func (s *secrets) add(value string) {
	for _, text := range append(strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' }), value) {
		if strings.TrimSpace(text) != "" && !slices.Contains(s.texts, text) {
			s.texts = append(s.texts, text)
		}
	}
	slices.SortStableFunc(s.texts, func(a, b string) int { return len(b) - len(a) })
}

// hide replaces secrets, the longest first, so that a part of one never shows.
func (s *secrets) hide(line string) string {
	for _, text := range s.texts {
		line = strings.ReplaceAll(line, text, mask)
	}
	return line
}

// secretLine masks the value of a line that declares a secret, well formed or not, and remembers it. It says whether
// the line is one.
func (s *secrets) secretLine(line string) (masked string, found bool) {
	const prefix = "openjd_" + string(secretVariable)
	trimmed := strings.TrimLeft(line, " \t")
	if !strings.HasPrefix(strings.ToLower(trimmed), prefix) {
		return line, false
	}
	payload := strings.TrimLeft(trimmed[len(prefix):], ": \t")
	plain := payload
	if strings.HasPrefix(payload, `"`) {
		if json.Unmarshal([]byte(payload), &plain) != nil {
			plain = strings.Trim(payload, `"`)
		}
	}
	name, value, _ := strings.Cut(plain, "=")
	s.add(value)
	return trimmed[:len(prefix)] + ": " + s.hide(strings.Trim(name, `"`)) + "=" + mask, true
}
