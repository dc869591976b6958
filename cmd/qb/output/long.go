package output

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
)

// printLong prints a row as a block: a line for each field that holds something, a blank line between blocks.
func (l *Lister[T]) printLong(row *T) {
	if l.count > 1 {
		fmt.Fprintln(l.out)
	}
	widest := 0
	for _, c := range l.columns {
		widest = max(widest, len(c.Name))
	}
	for _, c := range l.columns {
		text := Escape(c.of(row))
		if text == "" {
			continue
		}
		name, style := c.Name, lipgloss.NewStyle()
		pad := strings.Repeat(" ", widest-len(name))
		if l.colour {
			name = lipgloss.NewStyle().Bold(true).Render(name)
			style = c.styleOf(row)
		}
		fmt.Fprintf(l.out, "%s%s  %s\n", name, pad, style.Render(text))
	}
}
