package output

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"qb/agenda"
	"qb/internal/units"
)

// Cell is a cell's text: escaped, and a dash for nothing, so that rows always have all fields.
func Cell(text string) string {
	if text == "" {
		return "-"
	}
	return Escape(text)
}

// EncodeJSON writes a value on one line, with < and > as they are and nothing that a terminal acts on.
func EncodeJSON(v any) ([]byte, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return []byte(EscapeJSON(strings.TrimSuffix(b.String(), "\n"))), nil
}

// PrintJSON writes a value as JSON, on a line of its own.
func PrintJSON(out io.Writer, v any) error {
	data, err := EncodeJSON(v)
	if err == nil {
		_, err = fmt.Fprintln(out, string(data))
	}
	return err
}

// Span writes a time span for people: two units at most.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m" + twoDigits(int(d.Seconds())%60) + "s"
	}
	return strconv.Itoa(int(d.Hours())) + "h" + twoDigits(int(d.Minutes())%60) + "m"
}

func twoDigits(n int) string { return strconv.Itoa(100 + n)[1:] }

// Known writes a number unless it is 0, which means not known.
func Known(write func(float64) string) func(float64) string {
	return func(n float64) string {
		if n == 0 {
			return ""
		}
		return write(n)
	}
}

// Seconds is Span of a number of seconds, if it is known.
var Seconds = Known(func(n float64) string { return Span(time.Duration(n * float64(time.Second))) })

// Size writes a number of bytes.
func Size(bytes float64) string { return units.Size(int64(bytes)) }

// KnownSize is Size, if it is known.
var KnownSize = Known(Size)

// Exit writes an exit code or a signal.
func Exit(code, signal *int) string {
	switch {
	case signal != nil:
		return "signal " + strconv.Itoa(*signal)
	case code != nil:
		return strconv.Itoa(*code)
	}
	return ""
}

// Moment writes a time in the reader's zone; nil is empty.
func Moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// StatusStyle colours a state; the word itself stays, colour is never the only sign.
func StatusStyle(status string) lipgloss.Style {
	return lipgloss.NewStyle().Foreground(lipgloss.Color(statusColours[status])) // "" is no colour
}

var statusColours = map[string]string{"running": "4", "complete": "2", "done": "2", "up": "2", "failed": "1",
	"lost": "1", "killed": "5", "blocked": "3", "locked": "3", "unreachable": "3", "preempted": "6"}

// colourWanted respects NO_COLOR, see no-color.org.
func colourWanted() bool { return os.Getenv("NO_COLOR") == "" }

// DidYouMean is the end of an error's sentence, or nothing.
func DidYouMean(prefix, word string, candidates []string) string {
	if best := agenda.Nearest(word, candidates); best != "" {
		return "; did you mean " + prefix + best + "?"
	}
	return ""
}
