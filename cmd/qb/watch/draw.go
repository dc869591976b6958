package watch

import (
	"cmp"
	"os"
	"strings"

	"charm.land/lipgloss/v2"

	"qb/api"
	"qb/cmd/qb/output"
)

// drawing is what the terminal can show.
type drawing struct {
	utf8, colour bool
}

// newDrawing reads the locale as setlocale(3) does, and NO_COLOR.
func newDrawing() drawing {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	locale = strings.ToLower(strings.ReplaceAll(locale, "-", ""))
	return drawing{utf8: strings.Contains(locale, "utf8"), colour: os.Getenv("NO_COLOR") == ""}
}

// user makes a text of the farm's users safe, and fit for the terminal.
func (d drawing) user(text string) string {
	text = output.Escape(text)
	if d.utf8 {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '×':
			return 'x'
		case r == '…':
			return '~'
		case r > '~':
			return '?'
		}
		return r
	}, text)
}

// cells is how wide a text without control sequences is.
func cells(text string) int {
	for i := range len(text) {
		if text[i] >= 0x80 || text[i] == 0x1b {
			return lipgloss.Width(text)
		}
	}
	return len(text)
}

// cut shortens a text to so many cells, with a mark where something is missing.
func (d drawing) cut(text string, width int) string {
	if cells(text) <= width {
		return text
	}
	mark := d.user("…")
	switch {
	case width < 1:
		return ""
	case width == 1: // MaxWidth(0) would be no limit
		return mark
	}
	return lipgloss.NewStyle().MaxWidth(width-1).Render(text) + mark
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-cells(text)))
}

func (d drawing) bold(text string) string { return lipgloss.NewStyle().Bold(true).Render(text) }

func (d drawing) chosen(text string) string { return lipgloss.NewStyle().Reverse(true).Render(text) }

func (d drawing) paint(style lipgloss.Style, text string) string {
	if !d.colour || text == "" {
		return text
	}
	return style.Render(text)
}

func (d drawing) status(status, text string) string { return d.paint(output.StatusStyle(status), text) }

// bar shows complete items, running ones, the ones that failed or were killed, and the rest. A part that is not empty
// has at least one cell while there is room.
func (d drawing) bar(n api.ItemCounts, width int) string {
	if n.Total == 0 {
		return ""
	}
	signs := []string{"█", "▒", "×", "·"}
	if !d.utf8 {
		signs = []string{"#", "=", "x", "."}
	}
	part := func(count, room int) int { return min((count*width+n.Total-1)/n.Total, room) }
	complete := n.Complete * width / n.Total
	running := part(n.Running, width-complete)
	bad := part(n.Failed+n.Killed, width-complete-running)
	return strings.Repeat(signs[0], complete) + strings.Repeat(signs[1], running) + strings.Repeat(signs[2], bad) +
		strings.Repeat(signs[3], width-complete-running-bad)
}

// slotBar shows slots in use.
func (d drawing) slotBar(n api.SlotCounts, width int) string {
	return d.bar(api.ItemCounts{Total: n.Total, Complete: min(n.Used, n.Total)}, width)
}

// sides puts one text at the left and one at the right of a line; the right one gives way.
func (d drawing) sides(left, right string, width int) string {
	if room := width - cells(right) - 2; cells(left) <= room {
		return pad(left, width-cells(right)) + right
	}
	return d.cut(left, width)
}
