package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"qb/api"
)

// listOptions are those that every listing has; long is of some.
type listOptions struct {
	json, noHeaders, long bool
	fields                string
}

func (o *listOptions) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array of objects")
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "print no heading")
	cmd.Flags().StringVar(&o.fields, "fields", "", "print only the columns (with -json: the members) `a,b`")
}

// bindLong is bind for a listing of things with many fields.
func (o *listOptions) bindLong(cmd *cobra.Command) {
	o.bind(cmd)
	cmd.Flags().BoolVar(&o.long, "long", false, "print a block per entry, with all fields that are set")
}

// column is one column of a table. Text is escaped by the table, not by the column.
type column[T any] struct {
	name  string
	right bool // numbers
	extra bool // only when asked for with -fields
	text  func(T) string
	style func(T) lipgloss.Style
}

// sampleRows is how many rows a table looks at to settle its widths; the rest streams.
const sampleRows = 1000

// lister prints rows as they come: a table, or a JSON array with one object a line.
type lister[T any] struct {
	out     *bufio.Writer
	colour  bool
	options listOptions
	columns []column[T]
	members []string // of JSON objects; nil: all
	rows    []T      // held back until the widths are settled
	widths  []int
	count   int
}

func newLister[T any](out io.Writer, o listOptions, all []column[T]) (*lister[T], error) {
	if o.long && o.json {
		return nil, api.Errorf(api.KindUsage, "-long and -json exclude each other; -json shows all fields too")
	}
	l := &lister[T]{out: bufio.NewWriter(out), options: o, colour: isTerminal(out) && colourWanted()}
	if o.fields == "" {
		l.columns = slices.DeleteFunc(slices.Clone(all), func(c column[T]) bool { return c.extra && !o.long })
		return l, nil
	}
	for name := range strings.SplitSeq(o.fields, ",") {
		name = strings.TrimSpace(name)
		if o.json {
			l.members = append(l.members, name)
			continue
		}
		i := slices.IndexFunc(all, func(c column[T]) bool { return c.name == name })
		if i < 0 {
			names := columnNames(all)
			return nil, api.Errorf(api.KindUsage, "-fields: no field %q%s; there are %s",
				escape(name), didYouMean("", name, names), strings.Join(names, ","))
		}
		l.columns = append(l.columns, all[i])
	}
	return l, nil
}

// colourWanted respects NO_COLOR, see no-color.org.
func colourWanted() bool { return os.Getenv("NO_COLOR") == "" }

func columnNames[T any](columns []column[T]) []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

func (l *lister[T]) add(rows ...T) error {
	for _, row := range rows {
		l.count++
		if l.options.json {
			if err := l.addJSON(row); err != nil {
				return err
			}
			continue
		}
		if l.options.long {
			if err := l.printLong(row); err != nil {
				return err
			}
			continue
		}
		if l.widths != nil {
			if err := l.print(row); err != nil {
				return err
			}
			continue
		}
		if l.rows = append(l.rows, row); len(l.rows) == sampleRows {
			if err := l.settle(); err != nil {
				return err
			}
		}
	}
	return nil
}

// end prints what was held back. An empty list is [] or nothing.
func (l *lister[T]) end() error {
	if l.options.json {
		closing := "\n]\n"
		if l.count == 0 {
			closing = "[]\n"
		}
		fmt.Fprint(l.out, closing) // a failed write is told by Flush
	} else if l.widths == nil && l.count > 0 && !l.options.long {
		if err := l.settle(); err != nil {
			return err
		}
	}
	return l.out.Flush()
}

func (l *lister[T]) addJSON(row T) error {
	data, err := encodeJSON(row)
	if err != nil {
		return err
	}
	if l.members != nil {
		if data, err = pickMembers(data, l.members); err != nil {
			return err
		}
	}
	opening := "[\n"
	if l.count > 1 {
		opening = ",\n"
	}
	_, err = fmt.Fprint(l.out, opening, string(data))
	return err
}

func pickMembers(data []byte, names []string) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("choosing members: %w", err)
	}
	var b strings.Builder
	for i, name := range names {
		value, ok := all[name]
		if !ok {
			return nil, api.Errorf(api.KindUsage, "-fields: no member %q; -json without -fields shows all", escape(name))
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, value)
	}
	return []byte("{" + b.String() + "}"), nil
}

func (l *lister[T]) settle() error {
	l.widths = make([]int, len(l.columns))
	for i, c := range l.columns {
		if !l.options.noHeaders {
			l.widths[i] = lipgloss.Width(c.name)
		}
		for _, row := range l.rows {
			l.widths[i] = max(l.widths[i], lipgloss.Width(shown(c.text(row))))
		}
	}
	if !l.options.noHeaders {
		heading := lipgloss.NewStyle().Bold(true)
		cells := make([]string, len(l.columns))
		for i, c := range l.columns {
			cells[i] = l.cell(i, c.name, heading)
		}
		if err := l.line(cells); err != nil {
			return err
		}
	}
	held := l.rows
	l.rows = nil
	for _, row := range held {
		if err := l.print(row); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister[T]) print(row T) error {
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		style := lipgloss.NewStyle()
		if c.style != nil {
			style = c.style(row)
		}
		cells[i] = l.cell(i, shown(c.text(row)), style)
	}
	return l.line(cells)
}

func (l *lister[T]) cell(i int, text string, style lipgloss.Style) string {
	pad := strings.Repeat(" ", max(0, l.widths[i]-lipgloss.Width(text)))
	if !l.colour {
		style = lipgloss.NewStyle()
	}
	if l.columns[i].right {
		return pad + style.Render(text)
	}
	if i == len(l.columns)-1 {
		pad = ""
	}
	return style.Render(text) + pad
}

func (l *lister[T]) line(cells []string) error {
	_, err := fmt.Fprintln(l.out, strings.Join(cells, "  "))
	return err
}

// shown is a cell's text: escaped, and a dash for nothing, so that rows always have all fields.
func shown(text string) string {
	if text == "" {
		return "-"
	}
	return escape(text)
}

// encodeJSON writes a value on one line, with < and > as they are and nothing that a terminal acts on.
func encodeJSON(v any) ([]byte, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	return []byte(escapeJSON(strings.TrimSuffix(b.String(), "\n"))), nil
}

// size writes bytes for people.
func size(bytes int64) string {
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes)/(1<<10), 0
	for value >= 1024 && unit < 4 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTP"[unit])
}

// span writes a time span for people: two units at most.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// moment writes a time in the reader's zone; nil is empty.
func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// statusStyle colours a state; the word itself stays, colour is never the only sign.
func statusStyle(status string) lipgloss.Style {
	colours := map[string]string{"running": "4", "complete": "2", "done": "2", "up": "2", "failed": "1", "lost": "1",
		"killed": "5", "blocked": "3", "locked": "3", "unreachable": "3", "preempted": "6"}
	if c, ok := colours[status]; ok {
		return lipgloss.NewStyle().Foreground(lipgloss.Color(c))
	}
	return lipgloss.NewStyle()
}
