package output

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/pflag"

	"qb/api"
)

// ListOptions are those that every listing has; long is of some.
type ListOptions struct {
	JSON, noHeaders, long bool
	fields                string
	Others                map[string]string // columns by names that other programs have for them
}

// Bind gives a command the options of every listing.
func (o *ListOptions) Bind(flags *pflag.FlagSet) {
	flags.BoolVar(&o.JSON, "json", false, "print a JSON array of objects")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "print no heading")
	flags.StringVar(&o.fields, "fields", "", "print only the columns (with -json: the members) `a,b`")
}

// ForPeople says whether rows are printed as a table with headings or as blocks, and not for a program.
func (o *ListOptions) ForPeople() bool { return !o.JSON && !o.noHeaders && o.fields == "" }

// BindLong is Bind for a listing of things with many fields.
func (o *ListOptions) BindLong(flags *pflag.FlagSet) {
	o.Bind(flags)
	flags.BoolVar(&o.long, "long", false, "print a block per entry, with all fields that are set")
}

// sampleRows is how many rows a table looks at to settle its widths; the rest streams.
const sampleRows = 1000

// Lister prints rows as they come: a table, or a JSON array with one object a line.
type Lister[T any] struct {
	out     *bufio.Writer
	colour  bool
	options ListOptions
	columns []Column[T]
	members []string // of JSON objects; nil: all
	rows    []T      // held back until the widths are settled
	widths  []int
	count   int
}

// NewLister makes a listing of the columns that the options ask for. End must be called.
func NewLister[T any](out io.Writer, o ListOptions, all []Column[T]) (*Lister[T], error) {
	if o.long && o.JSON {
		return nil, api.Errorf(api.KindUsage, "-long and -json exclude each other; -json shows all fields too")
	}
	l := &Lister[T]{out: bufio.NewWriter(out), options: o, colour: IsTerminal(out) && colourWanted()}
	if o.fields == "" {
		l.columns = slices.DeleteFunc(slices.Clone(all), func(c Column[T]) bool { return c.Extra && !o.long })
		return l, nil
	}
	for name := range strings.SplitSeq(o.fields, ",") {
		name = strings.TrimSpace(name)
		if o.JSON {
			l.members = append(l.members, name)
			continue
		}
		i := slices.IndexFunc(all, func(c Column[T]) bool { return c.Name == name })
		if i < 0 {
			names := Names(all)
			if here, known := o.Others[name]; known {
				return nil, api.Errorf(api.KindUsage, "-fields: no field %q; its name is %s", Escape(name), here)
			}
			return nil, api.Errorf(api.KindUsage, "-fields: no field %q%s; there are %s",
				Escape(name), DidYouMean("", name, names), strings.Join(names, ","))
		}
		l.columns = append(l.columns, all[i])
	}
	return l, nil
}

// Print lists the rows that source returns. It is not called if the options are refused.
func Print[T any](out io.Writer, o ListOptions, columns []Column[T], source func() ([]T, error)) error {
	l, err := NewLister(out, o, columns)
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

// Formatted writes numbers in a format of package fmt.
func Formatted(format string) func(float64) string {
	return func(n float64) string { return fmt.Sprintf(format, n) }
}

// Percent writes a fraction as a percentage.
func Percent(fraction float64) string { return fmt.Sprintf("%.1f%%", 100*fraction) }

// Add prints rows, or retains them until the widths of the columns are known. It returns an error when what was printed
// before could not be written: whoever reads it may have had enough.
func (l *Lister[T]) Add(rows ...T) error {
	for _, row := range rows {
		l.count++
		switch {
		case l.options.JSON:
			if err := l.addJSON(row); err != nil {
				return err
			}
		case l.options.long:
			l.printLong(row)
		case l.widths != nil:
			l.print(row)
		default:
			if l.rows = append(l.rows, row); len(l.rows) == sampleRows {
				l.settle()
			}
		}
	}
	_, err := l.out.Write(nil) // a bufio.Writer returns its first error from then on
	return err
}

// End prints what was held back. An empty list is [] or nothing.
func (l *Lister[T]) End() error {
	switch {
	case l.options.JSON && l.count == 0:
		fmt.Fprint(l.out, "[]\n")
	case l.options.JSON:
		fmt.Fprint(l.out, "\n]\n")
	case l.widths == nil && l.count > 0 && !l.options.long:
		l.settle()
	}
	return l.out.Flush()
}

func (l *Lister[T]) addJSON(row T) error {
	data, err := EncodeJSON(row)
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
			return nil, api.Errorf(api.KindUsage, "-fields: no member %q; -json without -fields shows all", Escape(name))
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, value)
	}
	return []byte("{" + b.String() + "}"), nil
}

func (l *Lister[T]) settle() {
	l.widths = make([]int, len(l.columns))
	for i, c := range l.columns {
		if !l.options.noHeaders {
			l.widths[i] = lipgloss.Width(c.Name)
		}
		for _, row := range l.rows {
			l.widths[i] = max(l.widths[i], lipgloss.Width(Cell(c.Of(row))))
		}
	}
	if !l.options.noHeaders {
		heading := lipgloss.NewStyle().Bold(true)
		cells := make([]string, len(l.columns))
		for i, c := range l.columns {
			cells[i] = l.cell(i, c.Name, heading)
		}
		l.line(cells)
	}
	for _, row := range l.rows {
		l.print(row)
	}
	l.rows = nil
}

func (l *Lister[T]) print(row T) {
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		cells[i] = l.cell(i, Cell(c.Of(row)), c.StyleOf(row))
	}
	l.line(cells)
}

func (l *Lister[T]) cell(i int, text string, style lipgloss.Style) string {
	pad := strings.Repeat(" ", max(0, l.widths[i]-lipgloss.Width(text)))
	if !l.colour {
		style = lipgloss.NewStyle()
	}
	if l.columns[i].Right {
		return pad + style.Render(text)
	}
	if i == len(l.columns)-1 {
		pad = ""
	}
	return style.Render(text) + pad
}

func (l *Lister[T]) line(cells []string) { fmt.Fprintln(l.out, strings.Join(cells, "  ")) }
