package watch

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"qb/cmd/qb/output"
)

// column is one column of a table. The last column of a table takes the room that is left.
type column[T any] struct {
	output.Column[T]
	worth int                 // where room is short, columns of least worth are left out first; 0: never
	least int                 // where room is short, it is narrowed so far; 0: never
	most  int                 // cells at most; 0: any number
	bar   func(T, int) string // instead of a text: drawn over so many cells
}

// The last column has at least so much room if any row has a text there: goodRest as long as columns of little worth
// are shown, then leastRest.
const (
	goodRest  = 40
	leastRest = 16
	little    = 5 // the worth below which a column gives way before others are narrowed
)

// table is rows of one kind, each with a key that stays the same from look to look.
type table[T any] struct {
	columns []column[T]
	key     func(T) string

	rows   []T
	cursor int
	chosen string // the key of the row at the cursor
	top    int    // first row that is shown
}

// put replaces the rows. The cursor stays on its row, or in its place if that is gone.
func (t *table[T]) put(rows []T) {
	t.rows = rows
	if n := slices.IndexFunc(rows, func(row T) bool { return t.key(row) == t.chosen }); n >= 0 && t.chosen != "" {
		t.cursor = n
	}
	t.move(0)
}

func (t *table[T]) move(by int) {
	t.cursor = max(0, min(t.cursor+by, len(t.rows)-1))
	t.chosen = ""
	if len(t.rows) > 0 {
		t.chosen = t.key(t.rows[t.cursor])
	}
}

// first puts the cursor on the first row, whichever that is.
func (t *table[T]) first() { t.cursor, t.top = 0, 0; t.move(0) }

func (t *table[T]) at() (row T, ok bool) {
	if t.cursor >= len(t.rows) {
		return row, false
	}
	return t.rows[t.cursor], true
}

// steer moves the cursor by a key; page is how many rows are shown.
func (t *table[T]) steer(key string, page int) { t.move(moved(key, page, len(t.rows))) }

// widths gives each column its cells; 0 leaves it out. What may be left out is left out where no row has anything.
func (t *table[T]) widths(width int) []int {
	natural := make([]int, len(t.columns))
	out := make([]bool, len(t.columns))
	for i, c := range t.columns {
		if c.bar != nil {
			natural[i] = c.most
			continue
		}
		for _, row := range t.rows {
			natural[i] = max(natural[i], cells(output.Escape(c.Of(row))))
		}
		out[i] = c.worth > 0 && natural[i] == 0 && len(t.rows) > 0
		natural[i] = max(natural[i], cells(c.Name))
		if c.most > 0 {
			natural[i] = min(natural[i], max(c.most, cells(c.Name)))
		}
	}
	last := len(t.columns) - 1
	for {
		least := -1
		for i, c := range t.columns {
			if c.worth > 0 && !out[i] && (least < 0 || c.worth < t.columns[least].worth) {
				least = i
			}
		}
		luxury := least >= 0 && t.columns[least].worth < little
		wide := slices.Clone(natural)
		if wide[last] = min(natural[last], leastRest); luxury {
			wide[last] = min(natural[last], goodRest)
		}
		over := -width // the mark of the cursor is as wide as the gap that the last column lacks
		for i := range wide {
			if out[i] {
				wide[i] = 0
			} else {
				over += wide[i] + 2
			}
		}
		if !luxury {
			over = t.narrow(wide, over)
		}
		if over <= 0 || least < 0 {
			wide[last] = max(1, wide[last]-over)
			return wide
		}
		out[least] = true
	}
}

// narrow takes cells that are too many from columns that may be narrower, the last first, and returns how many are
// left.
func (t *table[T]) narrow(wide []int, over int) int {
	for i, c := range slices.Backward(t.columns) {
		if less := min(over, wide[i]-c.least); c.least > 0 && less > 0 {
			wide[i], over = wide[i]-less, over-less
		}
	}
	return over
}

// draw is a heading and at most height-1 rows around the cursor.
func (t *table[T]) draw(d drawing, width, height int, focus bool) []string {
	wide := t.widths(width)
	heading := make([]string, len(t.columns))
	for i, c := range t.columns {
		heading[i] = c.Name
	}
	lines := []string{d.bold(t.line(d, wide, heading, nil, "  "))}
	page := max(1, height-1)
	t.top = max(0, min(t.top, t.cursor, len(t.rows)-page))
	t.top = max(t.top, t.cursor-page+1)
	for n := t.top; n < len(t.rows) && n < t.top+page; n++ {
		row := t.rows[n]
		texts, styles := make([]string, len(t.columns)), make([]lipgloss.Style, len(t.columns))
		for i, c := range t.columns {
			if wide[i] == 0 {
				continue
			}
			if c.bar != nil {
				texts[i] = c.bar(row, wide[i])
				continue
			}
			texts[i] = d.user(c.Of(row))
			styles[i] = c.StyleOf(row)
		}
		if focus && n == t.cursor {
			lines = append(lines, d.chosen(pad(t.line(d, wide, texts, nil, "> "), width)))
			continue
		}
		lines = append(lines, t.line(d, wide, texts, styles, "  "))
	}
	return lines
}

func (t *table[T]) line(d drawing, wide []int, texts []string, styles []lipgloss.Style, mark string) string {
	var b strings.Builder
	b.WriteString(mark)
	first := true
	for i, text := range texts {
		if wide[i] == 0 {
			continue
		}
		if !first {
			b.WriteString("  ")
		}
		first = false
		text = d.cut(text, wide[i])
		blank := strings.Repeat(" ", max(0, wide[i]-cells(text)))
		if styles != nil {
			text = d.paint(styles[i], text)
		}
		if t.columns[i].Right {
			b.WriteString(blank + text)
		} else {
			b.WriteString(text + blank)
		}
	}
	return strings.TrimRight(b.String(), " ")
}
