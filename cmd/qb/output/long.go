package output

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
)

// printLong prints a row as a block: a line for each field that holds something, a blank line between blocks.
func (l *Lister[T]) printLong(row T) error {
	if l.count > 1 {
		if _, err := fmt.Fprintln(l.out); err != nil {
			return err
		}
	}
	widest := 0
	for _, c := range l.columns {
		widest = max(widest, len(c.Name))
	}
	for _, c := range l.columns {
		text := Escape(c.Text(row))
		if text == "" {
			continue
		}
		name, style := c.Name, lipgloss.NewStyle()
		pad := strings.Repeat(" ", widest-len(name))
		if l.colour {
			name = lipgloss.NewStyle().Bold(true).Render(name)
			if c.Style != nil {
				style = c.Style(row)
			}
		}
		if _, err := fmt.Fprintf(l.out, "%s%s  %s\n", name, pad, style.Render(text)); err != nil {
			return err
		}
	}
	return nil
}
