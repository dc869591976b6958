package output

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"qb/api"
	"qb/internal/units"
)

// sampleRows is how many rows a table looks at to settle its widths; the rest streams.
const sampleRows = 1000

// Lister prints rows as they come: a table, blocks, delimited lines, or a JSON array or XML list with one object a
// line. What is sorted or has a line of totals comes at the end.
type Lister[T any] struct {
	out     *bufio.Writer
	none    func() // says that the list is empty
	colour  bool
	options ListOptions
	columns []Column[T]
	sorting *Column[T]         // nil: the order in which rows come
	members []string           // of JSON objects and XML; nil: all
	total   func([]T) []string // the words of the line above delimited rows; nil: there is none
	rows    []T                // held back until the widths are settled, or all are there
	widths  []int
	count   int
}

// Streams is where a command prints, as *cobra.Command has them.
type Streams interface {
	OutOrStdout() io.Writer
	ErrOrStderr() io.Writer
}

// PartialOutput is Streams for rows that are a part of an answer, which says by itself if there are none.
type PartialOutput struct{ io.Writer }

// OutOrStdout is the writer.
func (p PartialOutput) OutOrStdout() io.Writer { return p.Writer }

// ErrOrStderr takes nothing.
func (p PartialOutput) ErrOrStderr() io.Writer { return io.Discard }

// NewLister makes a listing of the columns that the options ask for. End must be called. none says what the farm has
// none of if the list is empty; it goes to stderr, and a program that asked for JSON or XML reads that in its answer.
func NewLister[T any](to Streams, none string, o ListOptions, all []Column[T]) (*Lister[T], error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	out := to.OutOrStdout()
	l := &Lister[T]{out: bufio.NewWriter(out), options: o, colour: IsTerminal(out) && colourWanted()}
	l.none = func() {
		if none != "" && !o.Whole() {
			fmt.Fprintln(to.ErrOrStderr(), Escape(none))
		}
	}
	if o.sortBy != "" {
		column, err := named(o, "-sortby", strings.TrimSpace(o.sortBy), all)
		if err != nil {
			return nil, err
		}
		l.sorting = &column
	}
	if o.fields == "" {
		l.columns = slices.DeleteFunc(slices.Clone(all), func(c Column[T]) bool { return c.Extra && !o.long })
		return l, nil
	}
	for name := range strings.SplitSeq(o.fields, ",") {
		name = strings.TrimSpace(name)
		if o.Whole() {
			l.members = append(l.members, name)
			continue
		}
		column, err := named(o, "-fields", name, all)
		if err != nil {
			return nil, err
		}
		l.columns = append(l.columns, column)
	}
	return l, nil
}

// named is the column of a name that an option gives.
func named[T any](o ListOptions, option, name string, all []Column[T]) (column Column[T], err error) {
	if i := slices.IndexFunc(all, func(c Column[T]) bool { return c.Name == name }); i >= 0 {
		return all[i], nil
	}
	if here, known := o.Others[name]; known {
		return column, api.Errorf(api.KindUsage, "%s: no field %q; its name is %s", option, Escape(name), here)
	}
	names := Names(all)
	return column, api.Errorf(api.KindUsage, "%s: no field %q%s; there are %s",
		option, Escape(name), DidYouMean("", name, names), units.Few(names))
}

// Total gives delimited rows a line of totals above their heading, as scripts for Qube expect and skip.
func (l *Lister[T]) Total(words func([]T) []string) { l.total = words }

// waits says whether rows are printed only when all are there.
func (l *Lister[T]) waits() bool {
	return l.options.Ordered() || l.total != nil && l.options.delimit != "" && !l.options.noHeaders
}

// Print lists the rows that source returns. It is not called if the options are refused.
func Print[T any](to Streams, none string, o ListOptions, columns []Column[T], source func() ([]T, error)) error {
	l, err := NewLister(to, none, o, columns)
	if err != nil {
		return err
	}
	rows, err := source()
	if err != nil {
		return err
	}
	if err := l.Add(rows...); err != nil {
		return err
	}
	return l.End()
}

// Rows are rows at hand, as Print takes them.
func Rows[T any](rows []T) func() ([]T, error) {
	return func() ([]T, error) { return rows, nil }
}

// Formatted writes numbers in a format of package fmt.
func Formatted(format string) func(float64) string {
	return func(n float64) string { return fmt.Sprintf(format, n) }
}

// Percent writes a fraction as a percentage.
func Percent(fraction float64) string { return fmt.Sprintf("%.1f%%", 100*fraction) }

// Add prints rows, or retains them until the widths of the columns are known. It returns an error when what was printed
// before could not be written: its reader may have closed it.
func (l *Lister[T]) Add(rows ...T) error {
	if l.waits() {
		l.rows = append(l.rows, rows...)
		return nil
	}
	return l.add(rows)
}

func (l *Lister[T]) add(rows []T) error {
	for n := range rows {
		row := &rows[n]
		l.count++
		switch {
		case l.options.Whole():
			if err := l.addWhole(row); err != nil {
				return err
			}
		case l.options.long:
			l.printLong(row)
		case l.options.delimit != "":
			l.printDelimited(row)
		case l.widths != nil:
			l.print(row)
		default:
			if l.rows = append(l.rows, *row); len(l.rows) == sampleRows {
				l.fixColumns()
			}
		}
	}
	_, err := l.out.Write(nil) // a bufio.Writer returns its first error from then on
	return err
}

// End prints what was held back. An empty list is [], an empty element of XML, or nothing.
func (l *Lister[T]) End() error {
	if l.waits() {
		rows := l.ordered(l.rows)
		l.rows = nil
		if l.total != nil && l.options.delimit != "" && !l.options.noHeaders {
			fmt.Fprintln(l.out, Escape("total: "+strings.Join(l.total(rows), "   ")))
		}
		if err := l.add(rows); err != nil {
			return err
		}
	}
	switch {
	case l.options.XML && l.count == 0:
		fmt.Fprint(l.out, xmlHead+"<list/>\n")
	case l.options.XML:
		fmt.Fprint(l.out, "</list>\n")
	case l.options.JSON && l.count == 0:
		fmt.Fprint(l.out, "[]\n")
	case l.options.JSON:
		fmt.Fprint(l.out, "\n]\n")
	case len(l.rows) > 0:
		l.fixColumns()
	}
	if l.count == 0 && len(l.rows) == 0 {
		l.none()
	}
	return l.out.Flush()
}

// addWhole prints a row with all its members, or those asked for.
func (l *Lister[T]) addWhole(row *T) error {
	data, err := EncodeJSON(row)
	if err != nil {
		return err
	}
	if l.members != nil {
		if data, err = pickMembers(data, l.members); err != nil {
			return err
		}
	}
	if l.options.XML {
		if l.count == 1 {
			fmt.Fprint(l.out, xmlHead+"<list>\n")
		}
		return writeXML(l.out, data)
	}
	opening := "[\n"
	if l.count > 1 {
		opening = ",\n"
	}
	fmt.Fprint(l.out, opening, string(data))
	return nil
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
			return nil, api.Errorf(api.KindUsage, "-fields: no member %q; without -fields all are shown", Escape(name))
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, value)
	}
	return []byte("{" + b.String() + "}"), nil
}

func (l *Lister[T]) fixColumns() {
	l.widths = make([]int, len(l.columns))
	for i := range l.columns {
		c := &l.columns[i]
		if !l.options.noHeaders {
			l.widths[i] = width(c.Name)
		}
		for n := range l.rows {
			l.widths[i] = max(l.widths[i], width(Cell(c.of(&l.rows[n]))))
		}
	}
	if !l.options.noHeaders {
		heading := lipgloss.NewStyle().Bold(true)
		for i, c := range l.columns {
			shown := c.Name
			if l.colour {
				shown = heading.Render(shown)
			}
			l.cell(i, shown, width(c.Name))
		}
		l.out.WriteByte('\n')
	}
	for n := range l.rows {
		l.print(&l.rows[n])
	}
	l.rows = nil
}

// print writes a row's line. What fails to be written is found by add.
func (l *Lister[T]) print(row *T) {
	for i := range l.columns {
		c := &l.columns[i]
		text := Cell(c.of(row))
		shown := text
		if l.colour && (c.Status || c.Style != nil) {
			shown = c.styleOf(row).Render(text)
		}
		l.cell(i, shown, width(text))
	}
	l.out.WriteByte('\n')
}

// cell writes a text, as it is shown, that is so wide, as the next cell of a line.
func (l *Lister[T]) cell(i int, shown string, wide int) {
	if i > 0 {
		l.out.WriteString("  ")
	}
	pad := max(0, l.widths[i]-wide)
	if l.columns[i].Right {
		l.pad(pad)
	}
	l.out.WriteString(shown)
	if !l.columns[i].Right && i < len(l.columns)-1 {
		l.pad(pad)
	}
}

const blanks = "                                "

func (l *Lister[T]) pad(n int) {
	for ; n > len(blanks); n -= len(blanks) {
		l.out.WriteString(blanks)
	}
	l.out.WriteString(blanks[:n])
}

// width is how many cells of a terminal an escaped text takes.
func width(text string) int {
	if plain(text) {
		return len(text)
	}
	return lipgloss.Width(text)
}
